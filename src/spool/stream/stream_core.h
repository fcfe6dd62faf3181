// The files, the log and the subscriptions of a stream. Dead letters are in separate streams.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"
#include "segments/spool_files.h"
#include "stream_log.h"
#include "subscription_core.h"
#include "threading.h"

namespace quarry::spool {

class StreamCore final : public Stream {
 public:
  /// Opens a stream like Stream::open(). OPTIONS must be valid, and ENVIRONMENT complete.
  static Result<std::unique_ptr<StreamCore>> open(const StreamOptions& options,
                                                  const Reporter& reporter,
                                                  const StreamEnvironment& environment);
  ~StreamCore() override;
  StreamCore(const StreamCore&) = delete;
  StreamCore& operator=(const StreamCore&) = delete;

  Result<std::uint64_t> append(std::span<const NewMessage> messages) override;
  /// Appends MESSAGES, which must be envelopes.
  Result<std::uint64_t> append(std::span<Message> messages);
  Result<std::shared_ptr<Subscription>> subscribe(const std::string& name,
                                                  const SubscriptionOptions& options) override;
  Result<void> unsubscribe(const std::string& name) override;
  Result<void> retire(const std::string& name) override;
  std::vector<SubscriptionStatistics> statistics() const override;

 private:
  using States = std::map<std::string, SubscriptionState>;

  StreamCore(const StreamOptions& options, Reporter reporter, const StreamEnvironment& environment);
  Result<void> take_folder();
  Result<States> read_states() const;
  Result<SubscriptionState> state_from_start() const;
  Result<void> add(const std::string& name, const SubscriptionState& state);

  StreamOptions options_;
  Reporter reporter_;
  StreamEnvironment environment_;
  SpoolFiles files_;
  SpoolLock lock_;
  std::unique_ptr<StreamLog> log_;
  mutable Mutex mutex_;  // guards the subscriptions
  std::map<std::string, std::shared_ptr<SubscriptionCore>> subscriptions_;
};

/// Returns the sorted names of the retired subscriptions of the stream in FILES. Includes only
/// subscriptions that have kept messages or dead letters.
Result<std::vector<std::string>> retired_names(const SpoolFiles& files);
/// Returns the sorted names of the subscriptions of the stream in FILES. A subscription exists if
/// its journal exists.
Result<std::vector<std::string>> subscription_names(const SpoolFiles& files);

}  // namespace quarry::spool
