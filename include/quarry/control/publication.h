// The Unix socket of quarry-replica. Workers use it to publish what they have committed. Programs use
// it to claim work that only one host of the group may do.
//
//   publish POOL NAME\n   publishes all unpublished changes of the repository NAME of POOL ("" if
//                         the pool has a single repository). When a quorum of servers has stored
//                         them, answers with their position: CREATED SEQUENCE
//   notify POOL NAME\n    the same without an answer
//   wait POOL NAME SEQUENCE\n
//                         answers when the message SEQUENCE of the stream has been applied to the
//                         repository, and at once if the stream does not have that message
//   land POOL NAME CREATED SEQUENCE SIZE\n CONTENT
//                         publishes entries of the repository if nothing follows the position
//                         (CREATED, SEQUENCE) in the stream. CONTENT has SIZE bytes: for each entry
//                         its size, a newline and the entry. Answers with `true` if the entries are in
//                         the stream, and with `false` if something came first
//   catch-up POOL NAME\n  answers when everything that the stream holds about the repository has been
//                         applied to it
//   status\n              answers with one line of JSON
//   status POOL NAME\n    the state of one repository, with its number of artifacts and their digest
//   join HOST [POOL NAME]\n  starts to copy what this host lacks (this repository, or all) from HOST
//                         ("-": any other host)
//   joined\n              the state of the copying
//   leave\n               publishes everything, and tells the other hosts that this one leaves
//
//   claim KEY VALUE POOL NAME\n     stores VALUE for three days if the group does not have KEY for
//                                   this repository yet, and answers with the stored value
//   claim-current …\n               the same, but fails if other hosts' changes are not yet applied
//   release KEY START POOL NAME\n   removes KEY if its value begins with START; without an answer
//   lease KEY POOL NAME\n           answers `ok held` and holds the lease KEY of the repository until
//                                   the client disconnects; or `ok taken by HOST`. When the lease is
//                                   lost, a second answer says why, and the connection is closed
//
// Answers: `ok ANSWER\n` or `error TEXT\n`. A KEY consists of letters, digits and any
// of "-_=/."; a VALUE does not contain spaces. The socket's owner and mode restrict access.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::control {

/// A position in the stream, see replica::StreamPosition.
struct PublishedPosition {
  std::int64_t created = 0;
  std::uint64_t sequence = 0;  // 0: unknown
};

/// The right of one process of the group to do something. Its destruction gives the lease back.
class Lease {
 public:
  explicit Lease(base::Fd connection) : connection_(std::move(connection)) {}
  /// Returns false after quarry-replica has lost the lease or has ended. Another host can then get
  /// the lease. A process that was suspended can learn this too late, so what it does under the lease
  /// must be harmless in that case.
  bool is_held() const;

 private:
  base::Fd connection_;
};

/// Whether claim() fails while the changes of other hosts are not applied.
enum class ClaimWhen : std::uint8_t { kAlways, kCurrent };

/// The client. Each call opens a connection.
class Publication {
 public:
  /// SOCKET is a path. TIME_OUT applies to a whole call.
  Publication(std::string socket, std::chrono::milliseconds time_out)
      : socket_(std::move(socket)), time_out_(time_out) {}

  /// Returns when everything that the repository held at the time of the call is in the stream, up to
  /// the returned position.
  /// Errors: kBusy (not in time), kNotFound (quarry-replica does not run), kDenied, kIo (also
  /// if quarry-replica answers with an error).
  Result<PublishedPosition> publish(std::string_view pool, std::string_view name) const;
  /// Publishes ENTRIES if nothing follows the position in the stream that the repository has. Returns
  /// false if something does; nothing is then published. Does not need the repository's write lock.
  /// Errors: the same as for publish(); the entries might then be published.
  Result<bool> land(std::string_view pool, std::string_view name, std::int64_t created,
                    std::uint64_t sequence, const std::vector<std::string>& entries) const;
  /// Returns when everything that the stream holds about the repository has been applied to it. Errors:
  /// the same as for publish().
  Result<void> catch_up(std::string_view pool, std::string_view name) const;
  /// Does not wait. Errors are ignored, because quarry-replica also finds changes by itself.
  void notify(std::string_view pool, std::string_view name) const;
  /// Waits until the message SEQUENCE has been applied to the repository. Errors: the same as for
  /// publish().
  Result<void> wait(std::string_view pool, std::string_view name, std::uint64_t sequence) const;
  /// Returns the status as JSON. Errors: the same as for publish().
  Result<std::string> status() const;
  /// Returns the state of one repository as JSON.
  Result<std::string> status(std::string_view pool, std::string_view name) const;
  /// WHAT is empty, or a pool, a space and a name.
  Result<void> join(std::string_view host, std::string_view what) const;
  /// Returns the state of the copying as JSON: see replica/join.h.
  Result<std::string> joined() const;
  Result<void> leave() const;

  /// The following functions use keys of the group. See above for KEY and VALUE.
  /// Errors: the same as for publish(). The outcome is then not known; the call can be repeated.

  /// Returns the value of KEY: VALUE, or that of an earlier claim of any host.
  Result<std::string> claim(std::string_view pool, std::string_view name, std::string_view key,
                            std::string_view value, ClaimWhen when = ClaimWhen::kAlways) const;
  /// Removes KEY if its value begins with START. Does not wait, and errors are ignored.
  void release(std::string_view pool, std::string_view name, std::string_view key,
               std::string_view start) const;
  /// Returns nullopt if another process or host has the lease. The lease of a host that has failed
  /// expires after half a minute, but only for hosts that ask more often.
  Result<std::optional<Lease>> lease(std::string_view pool, std::string_view name,
                                     std::string_view key) const;

 private:
  std::string socket_;
  std::chrono::milliseconds time_out_;
};

}  // namespace quarry::control
