// The writes of a sync session: one write transaction that stores the received artifacts, settings,
// unversioned files and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/repository/configuration.h"
#include "quarry/repository/unversioned.h"

namespace quarry::repository {

class Repository;

/// A received artifact.
struct Arrival {
  artifact::HashName name;
  std::string_view payload;  // content, or a delta when delta_source is set
  std::optional<artifact::HashName> delta_source = {};
  /// Whether the payload is in blob format (a cfile card) rather than plain (a file card).
  bool is_compressed = false;
  /// The uncompressed size of the whole artifact that a cfile card declares. Checked if set.
  std::optional<std::uint64_t> declared_size = {};
  bool is_private = false;
};

/// Records that a user is about to commit on a check-in.
struct CheckInLock {
  std::string login;       // empty for a client without a login
  std::int64_t since = 0;  // seconds since 1970
};

/// Default of the setting `lock-timeout`: how long a check-in lock lasts.
inline constexpr std::int64_t kCheckInLockSeconds = 60;

/// The sender of the stored artifacts. A row of `rcvfrom` is written for it only if something is
/// stored.
struct Sender {
  std::int64_t uid = 0;
  std::optional<std::string> login_nonce = {};
  std::string address = {};
};

/// Callbacks of Receipt::complete(). Any of them may be empty.
struct CompletionWatch {
  std::function<void(std::size_t done, std::size_t total)> progress;  // of artifacts
  std::function<bool()> is_interrupted;
};

/// One write transaction. Rolled back if it is destroyed without commit(). After an error from any
/// function it can only be destroyed.
class Receipt {
 public:
  Receipt(Receipt&&) noexcept;
  ~Receipt();

  /// Sets the sender of everything that is stored after this call.
  void set_sender(Sender sender);

  /// Stores a received artifact: verifies its hash (kInvalid if it is wrong), keeps a delta whose
  /// source has not arrived yet, fills phantoms, and resolves deltas that waited for this artifact.
  /// Ignores an artifact that is already stored or shunned, and returns false for it.
  base::Result<bool> store(const Arrival& arrival);

  // A clone stores all artifacts unchecked and checks them together at the end, so that it does not
  // matter in which order they arrive. Use these functions only for a repository that
  // init_for_clone() created and that no other process uses.

  /// Stores ARRIVAL unchecked. Ignores an artifact that is already stored or shunned, and returns
  /// false for it. Errors: kLimit, kInvalid (impossible sizes).
  base::Result<bool> keep(const Arrival& arrival);
  /// Checks everything that keep() stored, and fails with the error that store() would have
  /// returned for the first bad artifact. Then computes the derived tables. Starts threads. Fails
  /// with kIo when WATCH interrupts it.
  base::Result<void> complete(const CompletionWatch& watch = {});
  /// Adds NAME as a phantom (an artifact that exists elsewhere), unless it is already known.
  base::Result<void> add_phantom(const artifact::HashName& name, bool is_private);
  /// Makes NAME public or, for phantoms only, private.
  base::Result<void> set_private(const artifact::HashName& name, bool is_private);
  /// Sets a row of `config`, or removes it if VALUE is nullopt.
  base::Result<void> set_config(std::string_view name, std::optional<std::string_view> value);

  /// Stores RECORD in its table, unless the stored row with its key has the same or a later mtime.
  /// Checks only that a setting may be transferred. Returns whether anything changed.
  base::Result<bool> merge_config(const ConfigRecord& record);

  /// Locks CHECK_IN for CLIENT, which is about to commit a child of it. If another client holds the
  /// lock, returns that lock instead.
  base::Result<std::optional<CheckInLock>> lock_check_in(const artifact::HashName& check_in,
                                                         const std::optional<std::string>& login,
                                                         std::string_view client);
  /// Removes all locks of CLIENT.
  base::Result<void> unlock_check_ins(std::string_view client);

  /// Stores an unversioned file if it is newer than the stored one: it is newer if its mtime is
  /// later or, for equal mtimes, if its hash is greater (a deletion has the lowest hash). Returns
  /// whether anything changed. An arrival without content can only change the mtime of the same
  /// content. Errors: kInvalid (the content does not match its hash), kLimit.
  base::Result<bool> store_unversioned(const UnversionedArrival& arrival);
  /// Removes NAMES from the list of unsent artifacts after they have been sent.
  base::Result<void> forget_unsent(const std::vector<artifact::HashName>& names);
  /// Sets the password of the user LOGIN. The project code must be known. Error: kNotFound.
  base::Result<void> set_password(std::string_view login, std::string_view password);

  /// Checks that TIP is the tip of BRANCH; it then remains the tip until this transaction ends. As
  /// in fossil, the tip is the newest open leaf of the branch by displayed time, also if the branch
  /// has forked. Private artifacts do not count. Call it before anything is stored. Errors:
  /// kConflict (TIP is not the tip, or the branch is closed), kNotFound (no such branch).
  base::Result<void> require_tip(std::string_view branch, const artifact::HashName& tip);

  /// Creates clusters if there are 100 or more unclustered artifacts. Returns the number of
  /// clusters created.
  base::Result<int> make_clusters();

  /// Computes the derived tables for everything that was stored, and commits durably
  /// (synchronous=FULL).
  base::Result<void> commit();

 private:
  friend class Repository;
  struct State;
  explicit Receipt(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::repository
