#include "stream_core.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "envelope.h"

namespace quarry::spool {

using base::ErrorCode;
using base::fail;
using base::FileUse;
using base::Result;

namespace {

constexpr std::string_view kMark = "quarry-stream 1\n";

bool is_good_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

Result<void> check(const SubscriptionOptions& options) {
  if (options.window < 1 || options.window > kMaxWindow) {
    return fail(ErrorCode::kInvalid, fmt::format("window: must be 1 to {}", kMaxWindow));
  }
  return options.retry.check();
}

}  // namespace

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
  std::map<std::string, StreamLog::SubscriptionProgress> reached;
  for (const auto& [name, state] : states) {
    reached[name] = {.read = state.read(), .floor = state.floor()};
  }
  QUARRY_TRY_ASSIGN(core->log_, StreamLog::open(core->files_, options, reporter, reached));
  for (const auto& [name, state] : states) QUARRY_TRY(core->add(name, state));
  return core;
}

StreamCore::~StreamCore() {
  for (const auto& [name, subscription] : subscriptions_) subscription->core_->close();
}

/// Creates the directory and the mark if needed, and takes the locks, which also exclude queues.
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
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: the files of {} are a queue's", folder.string(), files_.name()));
  }
  QUARRY_TRY_ASSIGN(const auto mark, system.open(files_.stream_mark(), FileUse::kOpenOrMake));
  QUARRY_TRY(mark->append(kMark));
  QUARRY_TRY(mark->sync());
  return system.sync_directory(folder);
}

/// Reads the journals. A subscription with an unreadable journal starts with all messages that
/// exist; one whose creation was interrupted is removed.
Result<StreamCore::States> StreamCore::read_states() const {
  States states;
  QUARRY_TRY_ASSIGN(const auto names, subscription_names(files_));
  for (const std::string& name : names) {
    const SpoolFiles journal = journal_files(files_, name);
    QUARRY_TRY_ASSIGN(auto reading, read_journal(journal, reporter_));
    auto& state = reading.state;
    if (!state && !reading.is_damaged) {
      QUARRY_TRY(journal.remove_all());
      continue;
    }
    if (!state) {
      reporter_(fmt::format(
          "{}: the journal of {} is damaged; everything in the segments is delivered, some of it "
          "perhaps again",
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

/// Adds the subscription NAME with STATE.
Result<void> StreamCore::add(const std::string& name, const SubscriptionState& state) {
  QUARRY_TRY_ASSIGN(auto journal, Journal::begin(journal_files(files_, name), reporter_, state));
  QUARRY_TRY_ASSIGN(auto dead, DeadLetters::open(dead_letters_of(options_.location, name),
                                                 reporter_, environment_));
  SubscriptionCore::Setup setup{.name = name,
                                .log = *log_,
                                .reporter = reporter_,
                                .environment = environment_,
                                .state = state,
                                .journal = std::move(journal),
                                .dead = std::move(dead)};
  subscriptions_[name] =
      std::make_shared<Subscription>(std::make_unique<SubscriptionCore>(std::move(setup)));
  return {};
}

Result<std::uint64_t> StreamCore::append(std::span<Message> messages) {
  QUARRY_TRY_ASSIGN(const std::uint64_t first, log_->append(messages));
  const Lock lock(mutex_);
  for (const auto& [name, subscription] : subscriptions_) subscription->core_->notify();
  return first;
}

Result<std::shared_ptr<Subscription>> StreamCore::subscribe(const std::string& name,
                                                            const SubscriptionOptions& options) {
  if (!is_good_name(name)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("a subscription's name has 1 to {} of A-Z a-z 0-9 - _", kMaxName));
  }
  QUARRY_TRY(check(options));
  const Lock lock(mutex_);
  if (!subscriptions_.contains(name)) {
    SubscriptionState state(log_->cut());
    if (options.from_beginning) {
      QUARRY_TRY_ASSIGN(state, state_from_start());
    }
    log_->set_floor(name, state.floor());
    if (const auto added = add(name, state); !added) {
      log_->forget(name);
      return std::unexpected(added.error());
    }
  }
  const auto& subscription = subscriptions_[name];
  subscription->core_->set_options(options);
  return subscription;
}

Result<void> StreamCore::unsubscribe(const std::string& name) {
  const Lock lock(mutex_);
  const auto found = subscriptions_.find(name);
  if (found == subscriptions_.end()) {
    return fail(ErrorCode::kNotFound, "there is no subscription " + name);
  }
  QUARRY_TRY(found->second->core_->remove());
  subscriptions_.erase(found);
  return {};
}

std::vector<std::shared_ptr<Subscription>> StreamCore::subscriptions() const {
  const Lock lock(mutex_);
  std::vector<std::shared_ptr<Subscription>> all;
  for (const auto& [name, subscription] : subscriptions_) all.push_back(subscription);
  return all;
}

}  // namespace quarry::spool
