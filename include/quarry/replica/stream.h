// The stream that the hosts of a group share: a stream of NATS JetStream, which replicates it.
//
//   stream    quarry-GROUP
//   subjects  quarry.GROUP.PROJECT      PROJECT is the project code
//             quarry-host.GROUP         announcements to all hosts (not stored)
//             quarry-host.GROUP.HOST    requests to HOST (not stored)
//   buckets   quarry_leases-GROUP, quarry_records-GROUP    keys with values (streams, too)
//
// NATS gives each message a sequence number. All hosts read the messages in this order.
// Stream is the only class that uses libnats. In the background, it reconnects after a failure, with
// the current contents of the credentials and certificates, and creates a stream that was deleted.
//
// If the leader of the stream is lost, the servers need some seconds to elect another.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::replica {

struct StreamOptions {
  /// URLs of servers, separated by commas: all nats://HOST:PORT, or all tls://HOST:PORT. The first that
  /// accepts a connection is used.
  std::string servers;
  std::string group;
  /// The name of this host, for the server's list of connections.
  std::string host;
  /// Paths of files; empty: not used, or for `tls_ca` the system's CA certificates. The file
  /// `credentials` was made by `nsc`, or is one line USER:PASSWORD.
  std::string credentials, tls_ca, tls_certificate, tls_key;
  /// Number of servers that store the stream.
  int replicas = 3;
  /// Age and size (bytes) beyond which NATS discards the oldest messages. 0: unlimited.
  std::chrono::seconds keep{std::chrono::hours(24 * 7)};
  std::uint64_t keep_size = std::uint64_t{10} << 30;
  /// How long a lease is valid after it was stored.
  std::chrono::milliseconds lease_time{30000};
};

/// A position in a stream. A stream that was deleted and created again has another `created`.
struct StreamPosition {
  std::int64_t created = 0;    // nanoseconds since 1970
  std::uint64_t sequence = 0;  // of the last message before the position
  friend bool operator==(const StreamPosition&, const StreamPosition&) = default;
};

struct StreamRange {
  std::int64_t created = 0;
  std::uint64_t first = 0;  // sequence of the oldest message, or last + 1 if the stream is empty
  std::uint64_t last = 0;
};

struct NewStreamMessage {
  std::string project;
  /// NATS drops a message that is published alone if its id was used within the last two minutes.
  std::string id;
  std::string content;
};

struct StreamMessage {
  std::uint64_t sequence = 0;
  std::string project;
  base::UnixMillis stored = {};  // by the time of the NATS server
  std::string content;
};

/// Where keys are stored.
enum class Bucket {
  kLeases,   // a key expires when it was not stored again for lease_time
  kRecords,  // a key expires kRecordTime after it was stored
};
constexpr std::chrono::seconds kRecordTime = std::chrono::days(3);

struct KeyValue {
  std::string value;
  std::uint64_t revision = 0;  // grows with each change of the bucket
};

/// A connection. Several threads can call its functions at the same time, but only one thread may
/// call seek() and next().
class Stream {
 public:
  /// Connects, and creates the stream if it does not exist. If the stream has other options, changes
  /// them. Does not wait for servers that do not answer: later calls fail with kBusy until one does.
  /// Errors: kInvalid (options), kNotFound or kDenied (files).
  static Result<std::unique_ptr<Stream>> open(const StreamOptions& options);
  virtual ~Stream() = default;

  /// Returns whether a server answers and the stream exists.
  virtual bool is_connected() const = 0;
  /// Errors: kBusy (no server answers, or the servers do not have a leader).
  virtual Result<StreamRange> range() = 0;

  /// Returns the maximum size of NewStreamMessage::content, in bytes.
  virtual std::size_t max_content() const = 0;
  /// Publishes MESSAGES, and returns when a quorum of servers has stored all of them. Returns the
  /// sequence of the last message. Sends without waiting for each single acknowledgement. If
  /// acknowledgements are missing, sends all MESSAGES again. The stream then contains all of them in
  /// order, and perhaps more copies of some of them before or between these. Errors: kBusy (not all
  /// were acknowledged in TIME; some or all might be stored), kDenied, kLimit (larger than
  /// max_content()).
  virtual Result<std::uint64_t> publish(std::span<const NewStreamMessage> messages,
                                        std::chrono::milliseconds time) = 0;
  /// Publishes MESSAGES, which are of one project, if no message of this project follows EXPECTED in
  /// the stream (0: if there is none). Returns the sequence of the last message. If several calls at
  /// the same time expect the same, one succeeds. But several servers of NATS 2.9 do not notice a
  /// message of publish() that is not acknowledged yet. Errors: kConflict (another message came first;
  /// MESSAGES are not stored), kBusy (the outcome is not known), kDenied, kLimit.
  /// After these errors, the first messages might be stored: readers discard an incomplete entry, but
  /// MESSAGES must not contain several entries if some of them alone would do harm.
  virtual Result<std::uint64_t> publish_after(std::uint64_t expected,
                                              std::span<const NewStreamMessage> messages,
                                              std::chrono::milliseconds time) = 0;

  /// Returns the answer to a request. Must not be longer than max_content().
  using Answer = std::function<std::string(std::string_view request)>;
  using Listener = std::function<void(std::string_view text)>;
  /// Calls ANSWER for requests to this host and LISTENER for announcements of other hosts, until
  /// the stream is destroyed. Each has its own thread, so a call that takes long delays the next
  /// one. Call serve() once.
  virtual void serve(Answer answer, Listener listener) = 0;
  /// Sends REQUEST to HOST and returns its answer. Errors: kNotFound (HOST is not connected), kBusy (no
  /// answer in TIME, or no server answers), kLimit (longer than max_content()).
  virtual Result<std::string> request(const std::string& host, std::string_view request,
                                      std::chrono::milliseconds time) = 0;
  /// Sends TEXT to all other hosts that are connected. It can get lost.
  virtual void announce(std::string_view text) = 0;

  /// Returns the value of KEY, or nullopt if it does not exist or has expired. A key consists of
  /// letters, digits and any of "-_=/.", and does not begin or end with a dot. The expiry of a lease
  /// does not depend on clocks: it has expired when this connection has seen the same revision for
  /// lease_time, so a host that waits for a lease must call get() or put() again and again.
  /// Errors: kInvalid (KEY), kBusy, kDenied.
  virtual Result<std::optional<KeyValue>> get(Bucket bucket, const std::string& key) = 0;
  /// Stores VALUE if EXPECTED is the revision of KEY (0: if KEY does not exist or has expired). Returns
  /// the new revision, or nullopt if KEY has another revision. Errors: kInvalid (KEY), kBusy (VALUE
  /// might be stored), kDenied, kLimit (longer than max_content()).
  virtual Result<std::optional<std::uint64_t>> put(Bucket bucket, const std::string& key,
                                                   std::string_view value,
                                                   std::uint64_t expected) = 0;
  /// Removes KEY if REVISION is its revision. Otherwise, does nothing. Errors: as put().
  virtual Result<void> erase(Bucket bucket, const std::string& key, std::uint64_t revision) = 0;

  /// Makes next() continue after SEQUENCE in the stream that exists now. Errors: kBusy (also if the
  /// stream ends before SEQUENCE).
  virtual Result<void> seek(std::uint64_t sequence) = 0;
  /// Returns the next message in order. If sequences are missing, NATS has discarded these
  /// messages. Waits for at most TIME, or some seconds longer if a server has failed; returns nullopt
  /// if none has arrived. Errors: kBusy. After an error, next() can be called again to continue at
  /// the same position, but only seek() continues in a stream that was deleted and created again.
  virtual Result<std::optional<StreamMessage>> next(std::chrono::milliseconds time) = 0;
};

}  // namespace quarry::replica
