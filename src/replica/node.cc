#include "node.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/base/time.h"
#include "quarry/control/replica_state.h"

namespace quarry::replica {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Json = nlohmann::json;

constexpr milliseconds kWatchInterval{1000};
constexpr milliseconds kConnectInterval{250};
constexpr milliseconds kMaxWait{2000};  // for a message to be applied
constexpr seconds kListInterval{10};
constexpr seconds kSaveInterval{60};     // of the files' states, and of the repositories' progress
constexpr seconds kPositionInterval{5};  // of the position
constexpr std::size_t kMaxKey = 200;
// Maximum number of repositories in the status.
constexpr std::size_t kMaxDescribed = 1000;

double seconds_since(base::UnixMillis time) {
  return static_cast<double>(base::system_clock().now().value - time.value) / 1000;
}

Json described(const Replicated& one, const Facts& facts, const Peers& peers) {
  Json described{{"pool", one.pool},
                 {"name", one.name},
                 {"project", facts.project},
                 {"position", facts.position.sequence},
                 {"lag_messages", facts.waiting},
                 {"lag_seconds", facts.waiting > 0 ? seconds_since(facts.oldest_waiting) : 0},
                 {"is_published", !facts.unpublished_since},
                 {"needs_sync", facts.needs_sync},
                 {"publish_error", facts.publish_error},
                 {"apply_error", facts.apply_error}};
  described["unpublished_seconds"] =
      facts.unpublished_since ? seconds_since(*facts.unpublished_since) : 0;
  const auto is_same = peers.is_same(facts.project, facts);
  described["same"] = is_same ? Json(*is_same) : Json();
  return described;
}

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns the size of the largest answer to another host, without the status at its beginning.
std::size_t max_answer(const Stream& stream) {
  return stream.max_content() - 16;
}

/// Returns the path of the file that stores the states of the repositories.
std::filesystem::path state_file(const ReplicaOptions& options) {
  return options.folder / "repositories";
}

}  // namespace

Node::Node(const ReplicaOptions& options, Stream& stream)
    : options_(options),
      health_(stream, [this] { publisher_.release(); }),
      applier_(
          stream, health_,
          {.host = options.stream.host, .position_file = options.folder / "position"},
          [this] {
            const std::lock_guard lock(mutex_);
            is_current_ = true;
          },
          [this] { answer_waiters(); }),
      repositories_(options, stream.max_content() - 1024, applier_),
      leases_(stream, {.host = options.stream.host}),
      publisher_(repositories_, stream, health_,
                 {.host = options.stream.host, .acknowledge_timeout = options.acknowledge_timeout}),
      copies_(repositories_, options.folder / "copies", max_answer(stream)),
      peers_(repositories_, applier_, stream, health_, options.stream.host,
             options.compare_interval,
             [this](std::string_view verb, std::string_view rest) {
               return copies_.answer(verb, rest);
             }),
      join_(repositories_, publisher_, peers_, options.stream.host, max_answer(stream)),
      watch_([this] { watch(); }) {}

void Node::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stopping_, true)) return;
  }
  changed_.notify_all();
  watch_.join();
  leases_.stop();
  repositories_.record_progress();
  repositories_.stop();
  join_.stop();
  peers_.stop();
  applier_.stop();
  applier_.save();
  save();
  publisher_.stop();
}

// --- the thread that watches files and the connection --------------------------------------------

/// Returns false if the process should stop.
bool Node::sleep(milliseconds time) {
  std::unique_lock lock(mutex_);
  const bool had_unknown = unknown_ > 0;
  changed_.wait_for(lock, time, [&] { return is_stopping_ || (had_unknown && unknown_ == 0); });
  return !is_stopping_;
}

void Node::watch() {
  list();
  const auto unknown = repositories_.changed();
  {
    const std::lock_guard lock(mutex_);
    unknown_ = unknown.size();
  }
  for (const ReplicatedPtr& one : unknown) {
    publisher_.examine(one, [this](const Result<void>&) {
      const std::lock_guard lock(mutex_);
      if (--unknown_ == 0) changed_.notify_all();
    });
  }
  using Clock = std::chrono::steady_clock;
  auto next_list = Clock::now() + kListInterval;
  auto next_save = Clock::now() + kSaveInterval;
  auto next_position = Clock::now() + kPositionInterval;
  auto next_check = Clock::now() + kWatchInterval;
  bool has_applier = false;
  do {
    health_.refresh();
    write_state();
    answer_waiters();
    if (!has_applier) {
      const std::lock_guard lock(mutex_);
      if (unknown_ == 0 && !is_stopping_) {
        has_applier = true;
        applier_.start(repositories_);
      }
    }
    copies_.expire();
    if (Clock::now() >= next_list) {
      list();
      next_list = Clock::now() + kListInterval;
    }
    if (Clock::now() >= next_check) {
      for (const ReplicatedPtr& one : repositories_.changed()) publisher_.examine(one);
      next_check = Clock::now() + kWatchInterval;
    }
    if (Clock::now() >= next_position) {
      applier_.save();
      next_position = Clock::now() + kPositionInterval;
    }
    if (Clock::now() >= next_save) {
      repositories_.record_progress();
      save();
      next_save = Clock::now() + kSaveInterval;
    }
  } while (sleep(health_.check() ? kWatchInterval : kConnectInterval));
}

void Node::list() {
  repositories_.list(state_file(options_));
}

void Node::save() {
  const auto saved = repositories_.save(state_file(options_));
  if (!saved) base::log(LogLevel::kError, "{}", saved.error().message);
}

// --- requests ------------------------------------------------------------------------------------

Result<void> Node::serve(base::Fd listener, int fd, const std::function<bool()>& goes_on) {
  QUARRY_TRY_ASSIGN(const auto server,
                    SocketServer::create(std::move(listener), [this](std::string_view request,
                                                                     SocketServer::Answer answer) {
                      handle(request, std::move(answer));
                    }));
  server->run(fd, goes_on);
  return {};
}

void Node::handle(std::string_view request, SocketServer::Answer answer) {
  std::string_view words = request;
  const std::string_view verb = base::take_until(words, ' ');
  Result<void> done;
  if (verb == "publish" || verb == "notify") {
    done = publish(words, answer, verb == "publish");
  } else if (verb == "join") {
    done = join(words, answer);
  } else if (request == "joined") {
    return answer(dump(join_.status()));
  } else if (request == "leave") {
    return leave(answer);
  } else if (verb == "wait") {
    done = wait(words, answer);
  } else if (verb == "land") {
    done = land(words, answer);
  } else if (verb == "catch-up") {
    done = catch_up(words, answer);
  } else if (request == "status") {
    return answer(status());
  } else if (verb == "status") {
    done = describe(words, answer);
  } else if (verb == "claim" || verb == "claim-current" || verb == "release" || verb == "lease") {
    done = claim(verb, words, answer);
  } else {
    done = fail(ErrorCode::kInvalid, "unknown request");
  }
  if (!done) answer(std::unexpected(done.error()));
}

namespace {

/// Finds the repository in WORDS: a pool and a name. A name does not contain spaces.
Result<ReplicatedPtr> named(Repositories& repositories, std::string_view words) {
  const std::size_t end = words.rfind(' ');
  if (end == std::string_view::npos) return fail(ErrorCode::kInvalid, "expected a pool and a name");
  return repositories.find(words.substr(0, end), words.substr(end + 1));
}

/// Removes the last word from WORDS, and returns it as a number.
template <typename Number>
std::optional<Number> take_last(std::string_view& words) {
  const std::size_t end = std::min(words.rfind(' '), words.size());
  const auto number = base::parse_number<Number>(words.substr(std::min(end + 1, words.size())));
  words = words.substr(0, end);
  return number;
}

/// Returns the entries in CONTENT, or nullopt if it is malformed.
std::optional<std::vector<std::string>> entries_in(std::string_view content) {
  std::vector<std::string> entries;
  while (!content.empty()) {
    const auto size = base::parse_number<std::size_t>(base::take_until(content, '\n'));
    if (!size || *size > content.size()) return std::nullopt;
    entries.emplace_back(content.substr(0, *size));
    content.remove_prefix(*size);
  }
  return entries;
}

}  // namespace

Result<void> Node::publish(std::string_view words, const SocketServer::Answer& answer, bool waits) {
  QUARRY_TRY_ASSIGN(const ReplicatedPtr one, named(repositories_, words));
  // Do not refuse requests before the first connection, for example after a reload: they wait.
  if (waits && !health_.is_starting()) QUARRY_TRY(health_.check());
  publisher_.publish(one, [this, one, answer](const Result<void>& result) {
    if (!result) return answer(std::unexpected(result.error()));
    answer(
        fmt::format("{} {}", health_.state().range.created, repositories_.facts(*one).published));
  });
  return {};
}

Result<void> Node::join(std::string_view words, const SocketServer::Answer& answer) {
  Join::Wanted wanted{.from = std::string(base::take_until(words, ' ')), .repository = {}};
  if (wanted.from == "-") wanted.from.clear();
  if (const std::size_t end = words.rfind(' '); end != std::string_view::npos) {
    wanted.repository.emplace(words.substr(0, end), words.substr(end + 1));
  }
  QUARRY_TRY(health_.check());
  QUARRY_TRY(join_.start(std::move(wanted)));
  answer("{}");
  return {};
}

/// Publishes everything, and then tells the other hosts that this one leaves.
void Node::leave(const SocketServer::Answer& answer) {
  struct Leaving {
    std::mutex mutex;
    std::size_t waiting = 1;
    std::optional<Error> error;
  };
  const auto leaving = std::make_shared<Leaving>();
  const auto note = [this, leaving, answer](const Result<void>& published) {
    {
      const std::lock_guard lock(leaving->mutex);
      if (!published) leaving->error = published.error();
      if (--leaving->waiting > 0) return;
    }
    if (leaving->error) return answer(std::unexpected(*leaving->error));
    peers_.leave();
    answer(dump({{"host", options_.stream.host}}));
  };
  std::vector<ReplicatedPtr> unpublished = repositories_.changed();
  for (ReplicatedPtr& one : repositories_.all()) {
    if (repositories_.facts(*one).unpublished_since) unpublished.push_back(std::move(one));
  }
  leaving->waiting += unpublished.size();
  for (const ReplicatedPtr& one : unpublished) publisher_.publish(one, note);
  note(health_.check());
}

Result<void> Node::wait(std::string_view words, const SocketServer::Answer& answer) {
  const std::string_view number = words.substr(std::min(words.rfind(' '), words.size() - 1) + 1);
  const auto sequence = base::parse_number<std::uint64_t>(number);
  if (!sequence) return fail(ErrorCode::kInvalid, "expected a pool, a name and a sequence");
  words.remove_suffix(number.size() + 1);
  QUARRY_TRY_ASSIGN(ReplicatedPtr one, named(repositories_, words));
  QUARRY_TRY(health_.check());
  const auto deadline = std::chrono::steady_clock::now() + kMaxWait;
  publisher_.run([this, waiter = Waiter{std::move(one), *sequence, deadline, answer}] {
    // The last known range can be a second old.
    if (waiter.sequence > health_.state().range.last) health_.refresh();
    if (waiter.sequence > health_.state().range.last) {
      return waiter.answer(fail(ErrorCode::kNotFound, "the stream does not have this message"));
    }
    {
      const std::lock_guard lock(mutex_);
      waiters_.push_back(waiter);
    }
    answer_waiters();
  });
  return {};
}

Result<void> Node::land(std::string_view request, const SocketServer::Answer& answer) {
  std::string_view words = base::take_until(request, '\n');
  auto entries = entries_in(request);
  const auto size = take_last<std::size_t>(words);
  const auto sequence = take_last<std::uint64_t>(words);
  const auto created = take_last<std::int64_t>(words);
  if (!size || !sequence || !created || !entries) {
    return fail(ErrorCode::kInvalid, "malformed request");
  }
  QUARRY_TRY_ASSIGN(const ReplicatedPtr one, named(repositories_, words));
  publisher_.run([this, one, answer, position = sync::ReplicaPosition{*created, *sequence},
                  entries = std::move(*entries)] {
    const auto stored = publisher_.land(one, position, entries);
    answer(stored ? Result<std::string>(*stored ? "true" : "false")
                  : std::unexpected(stored.error()));
  });
  return {};
}

/// Answers the waiters whose message has been applied, and those that have waited for too long.
void Node::answer_waiters() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  waiters_.remove_if([&](const Waiter& waiter) {
    const bool is_applied = repositories_.facts(*waiter.one).position.sequence >= waiter.sequence;
    if (!is_applied && now < waiter.deadline) return false;
    waiter.answer(is_applied ? Result<std::string>("")
                             : fail(ErrorCode::kBusy, "the message has not been applied yet"));
    return true;
  });
}

void Node::write_state() {
  const auto health = health_.check();
  const StreamRange range = health_.state().range;
  control::ReplicaState state;
  {
    const std::lock_guard lock(mutex_);
    latest_lag_ = lag_.update(health ? std::optional(range.last) : std::nullopt,
                              applier_.figures().sequence, std::chrono::steady_clock::now());
    state.lag = latest_lag_;
    if (!is_current_) state.reason = "changes of other hosts are being applied";
  }
  if (!health) {
    state.reason = health.error().message;
    state.is_away = !health_.is_starting();
  }
  const auto written = replace_file(options_.folder / "state", state.text());
  if (!written) state_log_.warn(written.error().message);
}

Result<void> Node::catch_up(std::string_view words, const SocketServer::Answer& answer) {
  QUARRY_TRY_ASSIGN(const ReplicatedPtr one, named(repositories_, words));
  publisher_.run([this, one, answer] {
    const auto done = applier_.catch_up(one, options_.acknowledge_timeout);
    answer(done ? Result<std::string>("{}") : std::unexpected(done.error()));
  });
  return {};
}

Result<void> Node::describe(std::string_view words, const SocketServer::Answer& answer) {
  QUARRY_TRY_ASSIGN(const ReplicatedPtr one, named(repositories_, words));
  publisher_.run([this, one, answer] { answer(describe(one)); });
  return {};
}

Result<void> Node::claim(std::string_view verb, std::string_view words,
                         const SocketServer::Answer& answer) {
  const std::string_view name = base::take_until(words, ' ');
  const std::string_view value = verb == "lease" ? "" : base::take_until(words, ' ');
  if (name.size() > kMaxKey) {
    return fail(ErrorCode::kLimit, "the key is longer than {} characters", kMaxKey);
  }
  QUARRY_TRY_ASSIGN(const ReplicatedPtr one, named(repositories_, words));
  QUARRY_TRY(health_.check());
  const std::string project = repositories_.facts(*one).project;
  if (project.empty()) return fail(ErrorCode::kBusy, "the repository has not been opened yet");
  if (verb == "claim-current") {
    QUARRY_TRY(check_is_current(*one));
    // The client reads from the repository what is published.
    QUARRY_TRY(repositories_.use(
        one, [](sync::Replication& replication) { return replication.record_progress(); }));
  }
  const std::string key = project + "." + std::string(name);
  if (verb == "lease") {
    leases_.hold(key, answer);
  } else if (verb == "release") {
    leases_.release(key, std::string(value), answer);
  } else {
    leases_.claim(key, std::string(value), answer);
  }
  return {};
}

/// Fails if ONE lacks changes that other hosts have published.
Result<void> Node::check_is_current(const Replicated& one) const {
  const bool is_behind = applier_.figures().sequence < health_.state().range.last;
  if (!is_behind && repositories_.facts(one).waiting == 0) return {};
  return fail(ErrorCode::kBusy, "the changes of other hosts are not applied yet");
}

Result<std::string> Node::describe(const ReplicatedPtr& one) {
  sync::Replication::Contents contents;
  QUARRY_TRY(repositories_.use(one, [&](sync::Replication& replication) -> Result<void> {
    QUARRY_TRY_ASSIGN(contents, replication.contents());
    return {};
  }));
  Json answer = described(*one, repositories_.facts(*one), peers_);
  answer["artifacts"] = contents.artifacts;
  answer["digest"] = contents.digest;
  answer["rows"] = contents.rows;
  return dump(answer);
}

std::string Node::status() const {
  const StreamHealth::State health = health_.state();
  const Applier::Figures figures = applier_.figures();
  const std::uint64_t behind =
      health.range.last > figures.sequence ? health.range.last - figures.sequence : 0;
  double lag_seconds = 0;
  {
    const std::lock_guard lock(mutex_);
    lag_seconds = std::chrono::duration<double>(latest_lag_).count();
  }
  std::size_t known = 0;
  std::size_t failed = 0;
  std::size_t need_sync = 0;
  std::size_t different = 0;
  std::vector<std::pair<bool, Json>> all;  // whether it is ok, and its description
  for (const ReplicatedPtr& one : repositories_.all()) {
    const Facts facts = repositories_.facts(*one);
    const bool has_failed = !facts.publish_error.empty() || !facts.apply_error.empty();
    const bool is_different = peers_.is_same(facts.project, facts) == false;
    const bool is_in_order =
        !has_failed && !facts.needs_sync && !facts.unpublished_since && !is_different;
    ++known;
    different += is_different || facts.needs_sync ? 1 : 0;
    failed += has_failed ? 1 : 0;
    need_sync += facts.needs_sync ? 1 : 0;
    if (!facts.was_opened && is_in_order) continue;
    all.emplace_back(is_in_order, described(*one, facts, peers_));
  }
  std::ranges::stable_sort(all, {}, &std::pair<bool, Json>::first);
  Json described = Json::array();
  for (auto& [is_in_order, each] : all) {
    if (described.size() == kMaxDescribed) break;
    described.push_back(std::move(each));
  }
  Json hosts = Json::array();
  for (const Peers::Host& host : peers_.hosts()) {
    hosts.push_back({{"host", host.name},
                     {"position", host.position},
                     {"lag_messages", host.lag},
                     {"heard_seconds", host.heard},
                     {"silent", host.is_silent},
                     {"different", host.different}});
  }
  return dump({{"host", options_.stream.host},
               {"group", options_.stream.group},
               {"waits_for_quorum", options_.waits_for_quorum},
               {"connected", health_.check().has_value()},
               {"error", health.error},
               {"stream",
                {{"created", health.range.created},
                 {"first", health.range.first},
                 {"last", health.range.last}}},
               {"position", figures.sequence},
               {"clock_difference_seconds", static_cast<double>(health.clock_difference) / 1000},
               {"lag_messages", behind},
               {"lag_seconds", lag_seconds},
               {"applied", figures.applied},
               {"skipped", figures.skipped},
               {"malformed", figures.malformed},
               {"repositories", known},
               {"failed", failed},
               {"need_sync", need_sync},
               {"different", different},
               {"hosts", std::move(hosts)},
               {"touched", std::move(described)}});
}

}  // namespace quarry::replica
