#include "peers.h"

#include <fmt/core.h>

#include <algorithm>
#include <shared_mutex>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::replica {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

constexpr std::size_t kMaxHosts = 32;
constexpr std::size_t kMaxName = 64;  // of a host or project
constexpr std::size_t kDigits = 32;   // of a digest in an announcement
constexpr milliseconds kPeerTime{10000};
// A host is silent after this number of intervals without an announcement.
constexpr int kSilentIntervals = 3;
// Announcements can be lost, so all digests are announced again.
constexpr std::chrono::minutes kFullInterval{10};
// Digests are computed for at most a tenth of the time.
constexpr int kDigestShare = 10;
constexpr milliseconds kMinDigestTime{100};
// Maximum number of artifacts that are requested at once for a repository.
constexpr std::size_t kMaxWants = 2000;
constexpr std::size_t kMaxRows = std::size_t{64} << 20;  // bytes of another host's list of rows
constexpr std::chrono::minutes kMaxRepairDelay{60};

constexpr std::string_view kGreeting = "quarry 1";
constexpr std::string_view kOk = "ok\n";
constexpr std::string_view kError = "error ";

/// Returns the first two words of the last line of LINES, or the first one if there are fewer.
std::string last_place(std::string_view lines, std::size_t words) {
  if (lines.ends_with('\n')) lines.remove_suffix(1);
  lines.remove_prefix(lines.rfind('\n') + 1);
  std::string place(base::take_until(lines, ' '));
  if (words == 2) place.append(" ").append(base::take_until(lines, ' '));
  return place;
}

}  // namespace

/// Keeps callbacks of the stream away after stop().
struct Peers::Gate {
  std::shared_mutex mutex;  // guards the field below, and is held during its calls
  Peers* peers = nullptr;
};

Peers::Peers(Repositories& repositories, ReadPosition& position, Stream& stream,
             StreamHealth& health, std::string host, milliseconds interval, Answer answer)
    : repositories_(repositories),
      position_(position),
      stream_(stream),
      health_(health),
      host_(std::move(host)),
      interval_(interval),
      answer_(std::move(answer)),
      gate_(std::make_shared<Gate>()) {
  gate_->peers = this;
  stream.serve(
      [gate = gate_](std::string_view request) {
        const std::shared_lock lock(gate->mutex);
        return gate->peers == nullptr ? std::string(kError) + "quarry-replica is stopping"
                                      : gate->peers->answer(request);
      },
      [gate = gate_](std::string_view text) {
        const std::shared_lock lock(gate->mutex);
        if (gate->peers != nullptr) gate->peers->listen(text);
      });
  thread_ = std::thread([this] { run(); });
}

void Peers::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stopping_, true)) return;
  }
  wake_.notify_all();
  thread_.join();
  const std::unique_lock lock(gate_->mutex);
  gate_->peers = nullptr;
}

// --- answers -------------------------------------------------------------------------------------

std::string Peers::answer(std::string_view request) {
  std::string_view rest = request;
  const std::string_view line = base::take_until(rest, '\n');
  std::string_view words = line;
  const std::string_view verb = base::take_until(words, ' ');
  const bool is_about_rows =
      verb == "digests" || verb == "names" || verb == "rows" || verb == "publish";
  const auto answer =
      is_about_rows ? answer_about(verb, request.substr(std::min(verb.size() + 1, request.size())))
                    : answer_(verb, words);
  return answer ? std::string(kOk) + *answer : std::string(kError) + answer.error().message;
}

Result<std::string> Peers::answer_about(std::string_view verb, std::string_view rest) {
  std::string_view words = base::take_until(rest, '\n');
  const std::string project(base::take_until(words, ' '));
  const ReplicatedPtr one = repositories_.of_project(project);
  if (!one) return fail(ErrorCode::kNotFound, "no repository of this project");
  const std::size_t max = stream_.max_content() - kOk.size();
  std::string text;
  QUARRY_TRY(repositories_.use(one, [&](sync::Replication& replication) -> Result<void> {
    if (verb == "digests") {
      QUARRY_TRY_ASSIGN(const auto contents, replication.contents());
      for (const auto& [digits, digest] : contents.buckets) {
        text += fmt::format("{} {}\n", digits, digest.substr(0, kDigits));
      }
    } else if (verb == "names") {
      const std::string_view digits = base::take_until(words, ' ');
      QUARRY_TRY_ASSIGN(text, replication.names(digits, words == "-" ? "" : words, max));
    } else if (verb == "rows") {
      QUARRY_TRY_ASSIGN(text, replication.rows(words == "- -" ? "" : words, max));
    } else {
      std::vector<std::string> places;
      while (!rest.empty()) places.emplace_back(base::take_until(rest, '\n'));
      return replication.publish_rows(places);
    }
    return {};
  }));
  return text;
}

Result<std::string> Peers::request(const std::string& host, std::string_view request) const {
  QUARRY_TRY_ASSIGN(std::string answer, stream_.request(host, request, kPeerTime));
  if (answer.starts_with(kOk)) return answer.substr(kOk.size());
  if (!answer.starts_with(kError)) return fail(ErrorCode::kConflict, "{}: unknown answer", host);
  return fail(ErrorCode::kConflict, "{}: {}", host, answer.substr(kError.size()));
}

// --- announcements -------------------------------------------------------------------------------

void Peers::listen(std::string_view text) {
  if (!text.starts_with(kGreeting)) return;
  const auto words = base::split_words(base::take_until(text, '\n'), " ");
  if (words.size() < 3 || words[2].size() > kMaxName || words[2] == host_) return;
  if (words.size() != 5) {
    const std::lock_guard lock(mutex_);
    peers_.erase(words[2]);
    return;
  }
  const auto created = base::parse_number<std::int64_t>(words[3]);
  const auto sequence = base::parse_number<std::uint64_t>(words[4]);
  if (!created || !sequence) return;
  const std::lock_guard lock(mutex_);
  const auto known = peers_.find(words[2]);
  if (known == peers_.end() && peers_.size() >= kMaxHosts) return;
  if (known == peers_.end() || is_silent(known->second)) must_announce_all_ = true;
  Peer& peer = peers_[words[2]];
  peer.position = {*created, *sequence};
  peer.heard = Clock::now();
  while (!text.empty()) take(peer, base::take_until(text, '\n'));
}

/// Takes one LINE of an announcement. mutex_ must be locked.
void Peers::take(Peer& peer, std::string_view line) {
  const auto words = base::split_words(line, " ");
  if (words.size() != 5 || words[3].size() != kDigits || words[4].size() != kDigits) return;
  const auto sequence = base::parse_number<std::uint64_t>(words[1]);
  const ReplicatedPtr one = repositories_.of_project(words[0]);
  if (!sequence || !one) return;
  Announced& announced = peer.projects[words[0]];
  announced.sequence = *sequence;
  announced.needs_sync = words[2] == "1";
  announced.digests = {words[3], words[4]};
  announced.is_new = true;
  // A host that needs to know what this host holds gets an answer.
  if (announced.needs_sync) {
    repositories_.change(*one, [](Facts& facts) { facts.is_announced = false; });
  }
}

void Peers::leave() {
  {
    const std::lock_guard lock(mutex_);
    has_left_ = true;
  }
  stream_.announce(fmt::format("{} {}\n", kGreeting, host_));
}

/// Announces this host's position, and digests that other hosts might not know.
void Peers::announce() {
  const sync::ReplicaPosition position = position_.start_of("");
  std::set<std::string> different;
  bool is_full = Clock::now() >= next_full_;
  {
    const std::lock_guard lock(mutex_);
    if (has_left_) return;
    is_full |= std::exchange(must_announce_all_, false);
    for (const auto& [name, peer] : peers_) {
      for (const auto& [project, theirs] : peer.projects) {
        if (theirs.differences > 0 && !is_silent(peer)) different.insert(project);
      }
    }
  }
  if (is_full) next_full_ = Clock::now() + kFullInterval;
  const std::string greeting =
      fmt::format("{} {} {} {}\n", kGreeting, host_, position.created, position.sequence);
  std::string text = greeting;
  for (const ReplicatedPtr& one : repositories_.all()) {
    const Facts facts = repositories_.facts(*one);
    if (!facts.has_digests()) continue;
    if (facts.is_announced && !is_full && !different.contains(facts.project)) continue;
    const std::string line = fmt::format("{} {} {:d} {} {}\n", facts.project, sequence_of(facts),
                                         facts.needs_sync, facts.digests.names, facts.digests.rows);
    if (text.size() + line.size() > stream_.max_content()) {
      stream_.announce(std::exchange(text, greeting));
    }
    text += line;
    repositories_.change(*one, [](Facts& known) { known.is_announced = true; });
  }
  stream_.announce(text);
}

/// Returns the sequence of the last entry that the repository has applied, or a later one.
std::uint64_t Peers::sequence_of(const Facts& facts) const {
  const sync::ReplicaPosition position = position_.start_of(facts.project);
  if (!facts.was_opened) return position.sequence;
  return facts.position.created == position.created ? facts.position.sequence : 0;
}

bool Peers::is_silent(const Peer& peer) const {
  return Clock::now() - peer.heard > kSilentIntervals * interval_;
}

// --- the thread ----------------------------------------------------------------------------------

void Peers::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, interval_, [this] { return is_stopping_; })) return;
      // The hosts might miss each other's announcements meanwhile.
      if (!health_.check()) {
        must_announce_all_ = true;
        peers_.clear();
        continue;
      }
    }
    compute_digests();
    compare();
    announce();
    const auto end = Clock::now() + interval_;
    for (const Repair& each : find_repairs()) {
      if (Clock::now() >= end) break;
      const auto repaired = repair(each);
      if (repaired || repositories_.is_stopping()) continue;
      base::log(LogLevel::kWarning, "{}: cannot compare with host {}: {}", each.one->path.string(),
                each.host, repaired.error().message);
    }
  }
}

/// Computes digests of repositories that have changed.
void Peers::compute_digests() {
  const auto end = Clock::now() + std::max(interval_ / kDigestShare, kMinDigestTime);
  const auto all = repositories_.all();
  for (std::size_t i = 0; i < all.size() && Clock::now() < end; ++i) {
    const ReplicatedPtr& one = all[next_++ % all.size()];
    const Facts facts = repositories_.facts(*one);
    if (!facts.examined || facts.digested == facts.examined || facts.project.empty()) continue;
    if (Clock::now() >= facts.next_digest) compute(one, *facts.examined);
  }
}

void Peers::compute(const ReplicatedPtr& one, const FileState& state) {
  if (file_state(one->path) != state) return;
  const auto begin = Clock::now();
  Digests digests;
  const auto done = repositories_.use(one, [&](sync::Replication& replication) -> Result<void> {
    QUARRY_TRY_ASSIGN(const auto contents, replication.contents());
    digests = {contents.digest.substr(0, kDigits), contents.rows.substr(0, kDigits)};
    return {};
  });
  const auto now = Clock::now();
  const bool is_valid = done && file_state(one->path) == state;
  std::string project;
  repositories_.change(*one, [&](Facts& facts) {
    facts.next_digest = now + kDigestShare * (now - begin);
    if (!is_valid) return;
    facts.digested = state;
    if (std::exchange(facts.digests, digests) == digests) return;
    facts.is_announced = false;
    project = facts.project;
  });
  const std::lock_guard lock(mutex_);
  for (auto& [name, peer] : peers_) {
    const auto theirs = peer.projects.find(project);
    if (theirs != peer.projects.end()) theirs->second.is_new = true;
  }
}

void Peers::compare() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, peer] : peers_) {
    for (auto& [project, theirs] : peer.projects) {
      if (theirs.is_new) compare(peer, theirs, project);
    }
  }
}

/// Compares PROJECT with what PEER has announced. mutex_ must be locked.
void Peers::compare(const Peer& peer, Announced& theirs, const std::string& project) {
  const ReplicatedPtr one = repositories_.of_project(project);
  if (!one) return;
  const Facts facts = repositories_.facts(*one);
  if (!facts.has_digests()) return;
  if (facts.digests == theirs.digests) {
    theirs.is_new = false;
    theirs.differences = 0;
    if (facts.needs_sync && (!theirs.needs_sync || agrees_with_all(project, facts.digests))) {
      repositories_.change(*one, [](Facts& known) { known.needs_sync = false; });
    }
    return;
  }
  const sync::ReplicaPosition position = position_.start_of(project);
  const bool can_compare = peer.position.created == position.created &&
                           theirs.sequence <= position.sequence &&
                           sequence_of(facts) <= peer.position.sequence;
  if (!can_compare) return;
  theirs.is_new = false;
  ++theirs.differences;
}

// --- repairs -------------------------------------------------------------------------------------

/// Returns the repositories that differ from another host's and whose next attempt is due.
std::vector<Peers::Repair> Peers::find_repairs() {
  std::vector<Repair> repairs;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, peer] : peers_) {
    if (is_silent(peer)) continue;
    for (const auto& [project, theirs] : peer.projects) {
      const ReplicatedPtr one = repositories_.of_project(project);
      if (theirs.differences < 2 || !one) continue;
      const Digests digests = repositories_.facts(*one).digests;
      Attempt& attempt = attempts_[project];
      if (Clock::now() < attempt.next) continue;
      // Attempts that do not change anything are repeated less and less often.
      attempt.delay = attempt.digests == digests
                          ? std::min<Clock::duration>(attempt.delay * 2, kMaxRepairDelay)
                          : Clock::duration(2 * interval_);
      attempt.digests = digests;
      attempt.next = Clock::now() + attempt.delay;
      repairs.push_back({one, project, name, theirs});
    }
  }
  return repairs;
}

Result<void> Peers::use(const Repair& repair, const Repositories::Action& action) {
  return repositories_.use(repair.one, action);
}

Result<void> Peers::repair(const Repair& repair) {
  const Facts facts = repositories_.facts(*repair.one);
  if (facts.digests.rows != repair.theirs.digests.rows) {
    const bool takes_theirs = facts.needs_sync && !repair.theirs.needs_sync;
    const bool gives_own = repair.theirs.needs_sync && !facts.needs_sync;
    // A host that needs rows asks for them.
    if (!gives_own) QUARRY_TRY(repair_rows(repair, takes_theirs));
  }
  if (facts.digests.names == repair.theirs.digests.names) return {};
  return repair_names(repair);
}

Result<void> Peers::repair_rows(const Repair& repair, bool takes_theirs) {
  std::string rows;
  for (std::string after = "- -"; rows.size() < kMaxRows;) {
    QUARRY_TRY_ASSIGN(const std::string page,
                      request(repair.host, fmt::format("rows {} {}", repair.project, after)));
    if (page.empty()) break;
    rows += page;
    after = last_place(page, 2);
  }
  sync::Replication::Difference difference;
  QUARRY_TRY(use(repair, [&](sync::Replication& replication) -> Result<void> {
    QUARRY_TRY_ASSIGN(difference, replication.difference(rows));
    if (takes_theirs || difference.newer.empty()) return {};
    return replication.publish_rows(difference.newer);
  }));
  const std::size_t count = takes_theirs ? difference.rows.size() : difference.newer.size();
  if (count == 0) return {};
  base::log(LogLevel::kNotice, "{}: {} rows differ from host {}: publishing {} of {} again",
            repair.one->path.string(), difference.rows.size(), repair.host, count,
            takes_theirs ? repair.host : host_);
  if (!takes_theirs) return {};
  const std::string first = fmt::format("publish {}", repair.project);
  std::string text = first;
  for (const std::string& place : difference.rows) {
    if (text.size() + place.size() + 1 > stream_.max_content()) {
      QUARRY_TRY(request(repair.host, std::exchange(text, first)));
    }
    text.append("\n").append(place);
  }
  QUARRY_TRY(request(repair.host, text));
  return {};
}

Result<void> Peers::repair_names(const Repair& repair) {
  QUARRY_TRY_ASSIGN(const std::string digests,
                    request(repair.host, fmt::format("digests {}", repair.project)));
  std::map<std::string, std::string> own;
  QUARRY_TRY(use(repair, [&](sync::Replication& replication) -> Result<void> {
    QUARRY_TRY_ASSIGN(auto contents, replication.contents());
    own = std::move(contents.buckets);
    return {};
  }));
  std::size_t wanted = 0;
  for (std::string_view lines = digests; !lines.empty() && wanted < kMaxWants;) {
    std::string_view line = base::take_until(lines, '\n');
    const std::string digits(base::take_until(line, ' '));
    if (const auto mine = own.find(digits); mine != own.end() && mine->second.starts_with(line))
      continue;
    for (std::string after = "-"; wanted < kMaxWants;) {
      QUARRY_TRY_ASSIGN(
          const std::string page,
          request(repair.host, fmt::format("names {} {} {}", repair.project, digits, after)));
      if (page.empty()) break;
      after = last_place(page, 1);
      QUARRY_TRY(use(repair, [&](sync::Replication& replication) -> Result<void> {
        QUARRY_TRY_ASSIGN(const std::size_t count,
                          replication.want_missing(page, kMaxWants - wanted));
        wanted += count;
        return {};
      }));
    }
  }
  if (wanted > 0) {
    base::log(LogLevel::kNotice, "{}: requested {} artifacts that host {} holds",
              repair.one->path.string(), wanted, repair.host);
  }
  return {};
}

// --- the status ----------------------------------------------------------------------------------

std::vector<Peers::Host> Peers::hosts() const {
  const sync::ReplicaPosition own = position_.start_of("");
  const std::lock_guard lock(mutex_);
  std::vector<Host> hosts;
  for (const auto& [name, peer] : peers_) {
    const bool is_same_stream = peer.position.created == own.created;
    const bool is_behind = is_same_stream && peer.position.sequence < own.sequence;
    const auto different = std::ranges::count_if(
        peer.projects, [](const auto& each) { return each.second.differences > 0; });
    hosts.push_back({.name = name,
                     .position = peer.position.sequence,
                     .lag = is_behind ? own.sequence - peer.position.sequence : 0,
                     .heard = std::chrono::duration<double>(Clock::now() - peer.heard).count(),
                     .is_silent = is_silent(peer),
                     .different = static_cast<std::size_t>(different)});
  }
  return hosts;
}

std::optional<bool> Peers::is_same(const std::string& project, const Facts& facts) const {
  if (!facts.has_digests()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (agrees_with_all(project, facts.digests)) return true;
  const bool differs = std::ranges::any_of(peers_, [&](const auto& each) {
    const auto theirs = each.second.projects.find(project);
    return theirs != each.second.projects.end() && theirs->second.differences > 0;
  });
  return differs ? std::optional(false) : std::nullopt;
}

/// Returns whether all other hosts have announced DIGESTS of PROJECT. mutex_ must be locked.
bool Peers::agrees_with_all(const std::string& project, const Digests& digests) const {
  return !peers_.empty() && std::ranges::all_of(peers_, [&](const auto& each) {
    const auto theirs = each.second.projects.find(project);
    return !is_silent(each.second) && theirs != each.second.projects.end() &&
           theirs->second.digests == digests;
  });
}

}  // namespace quarry::replica
