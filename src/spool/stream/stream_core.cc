#include "stream_core.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <utility>

#include "envelope.h"

namespace quarry::spool {

using base::FileUse;

namespace {

constexpr std::string_view kMark = "quarry-stream 1\n";

bool is_good_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

Result<void> check(const StreamOptions& options) {
  const std::string& name = options.location.name;
  if (name.empty() || name.find_first_of("./") != std::string::npos) {
    return fail(ErrorCode::kInvalid,
                "invalid stream name \"{}\": it must not be empty or contain a dot or a "
                "slash",
                name);
  }
  if (options.max_file_size < kMinFileSize) {
    return fail(ErrorCode::kInvalid, "max_file_size: must be at least {}", kMinFileSize);
  }
  if (options.max_disk_space != 0 && options.max_disk_space < options.max_file_size) {
    return fail(ErrorCode::kInvalid, "max_disk_space: must not be less than max_file_size");
  }
  return {};
}

Result<void> check(const SubscriptionOptions& options) {
  if (options.window < 1 || options.window > kMaxWindow) {
    return fail(ErrorCode::kInvalid, "window: must be 1 to {}", kMaxWindow);
  }
  if (options.retry.base >= milliseconds(1) && options.retry.max >= options.retry.base) return {};
  return fail(
      ErrorCode::kInvalid,
      "retry: the base must be at least 1 ms, and the maximum must not be less than the base");
}

/// Returns a thread-safe random number generator.
std::function<double()> shared_random() {
  struct Source {
    Mutex mutex;
    std::minstd_rand engine{std::random_device{}()};
  };
  return [source = std::make_shared<Source>()] {
    const Lock lock(source->mutex);
    return std::uniform_real_distribution<double>(0, 1)(source->engine);
  };
}

}  // namespace

Result<void> check(const NewMessage& message) {
  if (message.content.size() <= kMaxStreamContent && message.key.size() <= kMaxKey &&
      message.severity <= kLeastSevere) {
    return {};
  }
  return fail(ErrorCode::kLimit,
              "a message must have at most {} bytes of content, {} "
              "bytes of key, and a severity of at most {}",
              kMaxStreamContent, kMaxKey, kLeastSevere);
}

Result<std::unique_ptr<Stream>> Stream::open(const StreamOptions& options, Reporter reporter,
                                             const StreamEnvironment& environment) {
  QUARRY_TRY(check(options));
  const StreamEnvironment whole{
      .files = environment.files,
      .clock = environment.clock,
      .random = environment.random ? environment.random : shared_random()};
  const auto report = [reporter = std::move(reporter),
                       mutex = std::make_shared<Mutex>()](const std::string& line) {
    const Lock lock(*mutex);
    if (reporter) reporter(line);
  };
  return StreamCore::open(options, report, whole);
}

Result<std::vector<std::string>> subscription_names(const SpoolFiles& files) {
  QUARRY_TRY_ASSIGN(const auto names, files.system().list(files.folder()));
  std::set<std::string> found;
  const std::string prefix = files.name() + ".";
  for (const std::string& file : names) {
    const std::size_t end = file.rfind('.');
    if (!file.starts_with(prefix) || end <= prefix.size()) continue;
    const std::string name = file.substr(prefix.size(), end - prefix.size());
    if (is_good_name(name) && segment_number(prefix + name, file)) found.insert(name);
  }
  return std::vector<std::string>(found.begin(), found.end());
}

Result<std::vector<std::string>> retired_names(const SpoolFiles& files) {
  QUARRY_TRY_ASSIGN(const auto active, subscription_names(files));
  QUARRY_TRY_ASSIGN(const auto names, files.system().list(files.folder()));
  std::set<std::string> found;
  for (const std::string& file : names) {
    for (const std::string_view end : {".kept.stream", ".dead.stream"}) {
      if (!file.starts_with(files.name() + ".") || !file.ends_with(end)) continue;
      const std::size_t begin = files.name().size() + 1;
      if (file.size() <= begin + end.size()) continue;
      const std::string name = file.substr(begin, file.size() - begin - end.size());
      if (is_good_name(name) && std::ranges::find(active, name) == active.end()) found.insert(name);
    }
  }
  return std::vector<std::string>(found.begin(), found.end());
}

StreamCore::StreamCore(const StreamOptions& options, Reporter reporter,
                       const StreamEnvironment& environment)
    : options_(options),
      reporter_(std::move(reporter)),
      environment_(environment),
      files_(environment.files, options.location.folder, options.location.name, options.sync) {}

Result<std::unique_ptr<StreamCore>> StreamCore::open(const StreamOptions& options,
                                                     const Reporter& reporter,
                                                     const StreamEnvironment& environment) {
  std::unique_ptr<StreamCore> core(new StreamCore(options, reporter, environment));
  QUARRY_TRY(core->take_folder());
  QUARRY_TRY_ASSIGN(const States states, core->read_states());
  QUARRY_TRY_ASSIGN(core->log_, StreamLog::open(core->files_, options, reporter, states));
  for (const auto& [name, state] : states) QUARRY_TRY(core->add(name, state));
  return core;
}

StreamCore::~StreamCore() {
  for (const auto& [name, subscription] : subscriptions_) subscription->close();
}

/// Creates the directory and the file that marks a stream, if they do not exist. Takes the locks,
/// which also exclude queues.
Result<void> StreamCore::take_folder() {
  base::FileSystem& system = environment_.files;
  const auto& folder = options_.location.folder;
  QUARRY_TRY(system.make_folder(folder));
  QUARRY_TRY(system.sync_directory(std::filesystem::absolute(folder).parent_path()));
  QUARRY_TRY_ASSIGN(lock_, files_.lock(Roles::kBoth));
  files_.keep_to(lock_);
  QUARRY_TRY_ASSIGN(const bool is_there, files_.are_of_stream());
  if (is_there) return {};
  QUARRY_TRY_ASSIGN(const auto segments, files_.segments());
  QUARRY_TRY_ASSIGN(const auto position, files_.position());
  if (!segments.empty() || position) {
    return fail(ErrorCode::kInvalid, "{}: {} is a queue, not a stream", folder.string(),
                files_.name());
  }
  QUARRY_TRY_ASSIGN(const auto mark, system.open(files_.stream_mark(), FileUse::kOpenOrMake));
  QUARRY_TRY(mark->append(kMark));
  QUARRY_TRY(mark->sync());
  return system.sync_directory(folder);
}

/// Reads the journals. If a journal is unreadable, the subscription starts with all existing
/// messages. If the creation of a subscription was interrupted, the subscription is removed.
Result<StreamCore::States> StreamCore::read_states() const {
  States states;
  QUARRY_TRY_ASSIGN(const auto names, subscription_names(files_));
  for (const std::string& name : names) {
    const SpoolFiles journal = journal_files(files_, name);
    QUARRY_TRY_ASSIGN(auto reading, read_journal(journal, reporter_));
    auto& state = reading.state;
    if (!state && reading.damaged.empty()) {
      QUARRY_TRY(journal.remove_all());
      continue;
    }
    if (!state) {
      reporter_(fmt::format(
          "{}: the journal of subscription {} is damaged: delivering all stored messages, some of "
          "them perhaps again",
          options_.location.folder.string(), name));
      QUARRY_TRY_ASSIGN(state, state_from_start());
    }
    state->return_all();
    states.emplace(name, std::move(*state));
  }
  return states;
}

Result<SubscriptionState> StreamCore::state_from_start() const {
  QUARRY_TRY_ASSIGN(Position start, files_.beginning());
  start.sequence = std::max<std::uint64_t>(start.sequence, 1);
  return SubscriptionState(start);
}

Result<void> StreamCore::add(const std::string& name, const SubscriptionState& state) {
  QUARRY_TRY_ASSIGN(auto journal, Journal::begin(journal_files(files_, name), reporter_, state));
  QUARRY_TRY_ASSIGN(auto dead, DeadLetters::open(dead_letters_of(options_.location, name),
                                                 reporter_, environment_));
  subscriptions_[name] =
      std::make_shared<SubscriptionCore>(SubscriptionCore::Setup{.name = name,
                                                                 .log = *log_,
                                                                 .reporter = reporter_,
                                                                 .environment = environment_,
                                                                 .state = state,
                                                                 .journal = std::move(journal),
                                                                 .dead = std::move(dead)});
  return {};
}

Result<std::uint64_t> StreamCore::append(std::span<const NewMessage> messages) {
  std::vector<Message> sealed;
  sealed.reserve(messages.size());
  const base::UnixMillis now = environment_.clock.now();
  for (const NewMessage& one : messages) {
    QUARRY_TRY(check(one));
    sealed.push_back(seal({.key = one.key, .taken_at = now, .content = one.content}, one.severity));
  }
  return append(sealed);
}

Result<std::uint64_t> StreamCore::append(std::span<Message> messages) {
  QUARRY_TRY_ASSIGN(const std::uint64_t first, log_->append(messages));
  const Lock lock(mutex_);
  for (const auto& [name, subscription] : subscriptions_) subscription->notify();
  return first;
}

Result<std::shared_ptr<Subscription>> StreamCore::subscribe(const std::string& name,
                                                            const SubscriptionOptions& options) {
  if (!is_good_name(name)) {
    return fail(ErrorCode::kInvalid,
                "invalid subscription name \"{}\": it must consist of 1 to {} of the "
                "characters A-Z a-z 0-9 - _",
                name, kMaxName);
  }
  QUARRY_TRY(check(options));
  const Lock lock(mutex_);
  if (!subscriptions_.contains(name)) {
    const SubscriptionState state(log_->cut());
    log_->set_floor(name, state.floor());
    if (const auto added = add(name, state); !added) {
      log_->forget(name);
      return std::unexpected(added.error());
    }
  }
  const auto& subscription = subscriptions_[name];
  subscription->set_options(options);
  QUARRY_TRY_ASSIGN(const auto kept, DeadLetters::open(kept_messages_of(options_.location, name),
                                                       reporter_, environment_));
  // After an error, the remaining messages stay in the files until the next call.
  if (const auto done = subscription->restore(*kept); !done) reporter_(done.error().message);
  return subscription;
}

Result<void> StreamCore::unsubscribe(const std::string& name) {
  const Lock lock(mutex_);
  const auto found = subscriptions_.find(name);
  if (found == subscriptions_.end()) {
    return forget_retired(options_.location, name, reporter_, environment_);
  }
  QUARRY_TRY(found->second->remove());
  subscriptions_.erase(found);
  return {};
}

Result<void> StreamCore::retire(const std::string& name) {
  const Lock lock(mutex_);
  const auto found = subscriptions_.find(name);
  if (found == subscriptions_.end()) {
    return fail(ErrorCode::kNotFound, "unknown subscription " + name);
  }
  QUARRY_TRY_ASSIGN(const auto kept, DeadLetters::open(kept_messages_of(options_.location, name),
                                                       reporter_, environment_));
  QUARRY_TRY(found->second->retire(*kept));
  subscriptions_.erase(found);
  return {};
}

Result<void> forget_retired(const SpoolLocation& location, const std::string& subscription,
                            const Reporter& reporter, const StreamEnvironment& environment) {
  const SpoolFiles files(environment.files, location.folder, location.name, false);
  QUARRY_TRY_ASSIGN(const auto active, subscription_names(files));
  if (std::ranges::find(active, subscription) != active.end()) {
    return fail(ErrorCode::kBusy, "another process uses subscription " + subscription);
  }
  QUARRY_TRY_ASSIGN(const auto retired, retired_names(files));
  if (std::ranges::find(retired, subscription) == retired.end()) {
    return fail(ErrorCode::kNotFound, "unknown subscription " + subscription);
  }
  for (const SpoolLocation& each :
       {dead_letters_of(location, subscription), kept_messages_of(location, subscription)}) {
    QUARRY_TRY_ASSIGN(const auto letters, DeadLetters::open(each, reporter, environment));
    QUARRY_TRY(letters->remove());
  }
  return {};
}

std::vector<SubscriptionStatistics> StreamCore::statistics() const {
  // Release the mutex before calling subscriptions, because they might be busy.
  Lock lock(mutex_);
  const auto subscriptions = subscriptions_;
  lock.unlock();
  std::vector<SubscriptionStatistics> all;
  for (const auto& [name, one] : subscriptions) all.push_back(one->statistics());
  return all;
}

}  // namespace quarry::spool
