// The stream of NATS JetStream.
//
//   stream.cc              the connection, and whether the stream exists
//   nats_publishing.cc     messages to the stream
//   nats_reading.cc        messages from the stream
//   nats_requests.cc       requests and announcements
//   nats_buckets.cc        keys and values
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nats_connection.h"
#include "quarry/replica/stream.h"

namespace quarry::replica::nats {

constexpr milliseconds kSlice(250);  // how often waiting threads check the connection
constexpr milliseconds kRetryDelay(100);
// If no message arrives in kMaxQuiet, the consumer is compared with the end of the stream. If the
// stream has newer messages that do not arrive in kStallTime, the consumer is created again.
constexpr milliseconds kMaxQuiet(4000);

class NatsStream final : public Stream {
 public:
  explicit NatsStream(const StreamOptions& options)
      : options_(options),
        name_("quarry-" + options.group),
        prefix_("quarry." + options.group + '.'),
        hosts_("quarry-host." + options.group) {}
  ~NatsStream() override;
  NatsStream(const NatsStream&) = delete;
  NatsStream& operator=(const NatsStream&) = delete;
  Result<void> start();

  bool is_connected() const override {
    const Link current = link();
    return is_ready_ && current && current->is_up();
  }
  Result<StreamRange> range() override;
  std::size_t max_content() const override;
  Result<std::uint64_t> publish(std::span<const NewStreamMessage> messages,
                                milliseconds time) override;
  Result<std::uint64_t> publish_after(std::uint64_t expected,
                                      std::span<const NewStreamMessage> messages,
                                      milliseconds time) override;
  void serve(Answer answer, Listener listener) override;
  Result<std::string> request(const std::string& host, std::string_view request,
                              milliseconds time) override;
  void announce(std::string_view text) override;
  Result<std::optional<KeyValue>> get(Bucket bucket, const std::string& key) override;
  Result<std::optional<std::uint64_t>> put(Bucket bucket, const std::string& key,
                                           std::string_view value, std::uint64_t expected) override;
  Result<void> erase(Bucket bucket, const std::string& key, std::uint64_t revision) override;
  Result<void> seek(std::uint64_t sequence) override;
  Result<std::optional<StreamMessage>> next(milliseconds time) override;

 private:
  struct Attempt {
    std::optional<std::uint64_t> sequence;  // of the last message, if all were acknowledged
    Error error;
    bool can_repeat = true;
  };
  /// The outcome of storing a message at a certain place.
  struct Stored {
    std::uint64_t sequence = 0;         // 0: it was refused
    std::optional<std::uint64_t> last;  // why: the last message of the subject
  };
  struct StoredKey {
    std::uint64_t revision = 0;        // 0: the key was never stored
    std::optional<std::string> value;  // unless it was removed or has expired
  };
  struct SeenLease {
    std::uint64_t revision = 0;
    Clock::time_point since;
  };
  struct Consumer {
    Inbox inbox;
    std::uint64_t next_number = 1;
    milliseconds silence{0};
    Clock::time_point check_at = Clock::now() + kMaxQuiet;
    bool is_behind = false;  // at the last check, without a message since then
  };

  Link link() const {
    const std::lock_guard lock(monitor_->mutex);
    return link_;
  }
  std::string problem(std::string_view otherwise) const;
  std::unexpected<Error> busy(std::string_view what) const;
  Link connected_link(Clock::time_point end) const;
  Result<StreamInfo> info(const Link& link, const std::string& name) const;

  void maintain();
  Result<void> check();
  Result<void> check_and_log();
  Result<void> ensure_stream(const Link& link) const;
  Result<void> ensure_bucket(const Link& link, Bucket bucket) const;
  Result<void> ensure(const Link& link, jsStreamConfig& wanted) const;

  Result<Inbox> take_mailbox(const Link& link);
  Attempt attempt(const Inbox& mailbox, std::span<const NewStreamMessage> messages,
                  milliseconds patience, Clock::time_point end);
  Result<void> send(const Link& link, const NewStreamMessage& message, std::string_view id,
                    const std::string& reply) const;
  Result<Stored> store_after(std::uint64_t expected, natsMsg* message, const std::string& id,
                             Clock::time_point end);

  using Handler = std::function<void(const Link& link, natsMsg* message)>;
  void receive(const std::string& subject, const Handler& handle);

  std::string bucket_name(Bucket bucket) const;
  std::string key_subject(Bucket bucket, const std::string& key, const std::string& revision) const;
  Result<StoredKey> stored_key(Bucket bucket, const std::string& key);
  Result<Stored> store_key(Bucket bucket, const std::string& key,
                           std::optional<std::string_view> value, std::uint64_t revision);
  bool has_expired(const std::string& lease, std::uint64_t revision);

  Result<void> create_consumer(const Link& link, bool is_first);
  bool is_broken(const Link& link) const;
  bool is_stalled();
  /// Returns the message if it is the next one of the stream. Otherwise, handles it, and forgets the
  /// consumer if messages are missing.
  std::optional<StreamMessage> accept(natsMsg* message);

  const StreamOptions options_;
  const std::string name_;
  const std::string prefix_;  // of subjects
  const std::string hosts_;   // the subject of announcements
  std::shared_ptr<Monitor> monitor_ = std::make_shared<Monitor>();
  Link link_;  // with the monitor's lock
  std::atomic<bool> is_ready_ = false;
  std::atomic<std::uint64_t> attempts_ = 0;
  std::mutex mailboxes_mutex_;
  std::vector<Inbox> mailboxes_;  // for acknowledgements; those that no thread uses
  std::unique_ptr<Consumer> consumer_;
  StreamPosition position_;
  std::mutex leases_mutex_;
  std::map<std::string, SeenLease> leases_;
  std::thread maintenance_;
  std::vector<std::thread> receivers_;
};

}  // namespace quarry::replica::nats
