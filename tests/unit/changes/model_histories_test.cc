// Tests the model of a queue with thousands of random histories. After each step, the model's
// answers must equal the results of a simple computation.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model_world.h"
#include "quarry/changes/model.h"

using namespace quarry::changes;

namespace {

constexpr std::size_t kAtOnce = 3;  // maximum number of running jobs
constexpr int kHistories = 3'000;
constexpr int kSteps = 60;

/// Simulates a queue, its daemons and its branches in memory. The content of a file is the list of
/// change sets that changed it.
class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  void step() {
    using Act = void (World::*)();
    static constexpr std::array<Act, 10> kActs = {
        &World::submit, &World::submit, &World::start,   &World::start,  &World::finish,
        &World::finish, &World::change, &World::abandon, &World::freeze, &World::roll_back};
    (this->*kActs[pick(kActs.size())])();
    fail_doomed();
    check();
  }

  /// Releases, approves and thaws all jobs and finishes them. Requires that no job waits forever.
  void end() {
    model_.set_frozen({});
    frozen_.clear();
    for (auto& [id, job] : jobs_) {
      if (is_over(job.stage)) continue;
      job.held.clear();
      job.is_approved = true;
      model_.put(job);
    }
    fail_doomed();
    while (!model_.in_order().empty() || !running_.empty()) {
      const std::size_t before = running_.size();
      start();
      REQUIRE((running_.size() > before || !running_.empty()));
      check();
      finish();
      fail_doomed();
    }
    check();
  }

 private:
  using Key = std::pair<std::string, std::string>;
  using Content = std::map<Key, std::vector<std::uint64_t>>;

  std::size_t pick(std::size_t below) { return random_() % below; }
  bool chance(std::size_t percent) { return pick(100) < percent; }

  void submit() {
    const std::uint64_t number = ++numbers_;
    std::set<std::string> files;
    for (std::size_t i = pick(3) + 1; i > 0; --i) files.insert(std::string(1, char('a' + pick(5))));
    std::vector<std::uint64_t> dependencies;
    for (std::size_t i = chance(40) ? pick(3) : 0; i > 0; --i) {
      const std::uint64_t other = chance(3) ? 1000 + number : pick(number) + 1;
      if (other != number && std::ranges::find(dependencies, other) == dependencies.end()) {
        dependencies.push_back(other);
      }
    }
    const auto type = static_cast<MoveType>(1 + pick(3));
    ModelJob job = job_of(number, {files.begin(), files.end()}, dependencies, type);
    if (chance(20)) job.branch = "side";
    if (chance(10)) job.held = "bob";
    job.is_approved = !chance(10);
    // Some jobs have earlier times than previous jobs, for example because of retries or differing
    // clocks.
    if (chance(20)) job.name.tai = tai64n({static_cast<std::int64_t>(pick(number) + 1)});
    job.stage = Stage::kStaging;
    put(job);
  }

  void start() {
    for (const ChangeSetId& id : model_.ready({})) {
      if (running_.size() >= kAtOnce) return;
      // A job that this loop has just started can make the job `id` wait.
      if (!model_.is_ready(id, {})) continue;
      go(id, Stage::kRun);
      Content base;
      for (const Key& key : lanes_of(jobs_.at(id))) base[key] = content_[key];
      running_.emplace_back(id, std::move(base));
    }
  }

  void finish() {
    if (running_.empty()) return;
    const auto at = running_.begin() + static_cast<std::ptrdiff_t>(pick(running_.size()));
    const auto [id, base] = *at;
    running_.erase(at);
    constexpr std::array<Stage, 8> kEnds = {Stage::kDone,    Stage::kDone,   Stage::kDone,
                                            Stage::kDone,    Stage::kFail,   Stage::kTerm,
                                            Stage::kPending, Stage::kAbandon};
    const Stage end = kEnds[pick(kEnds.size())];
    if (end == Stage::kDone) {
      // The job adds its change to the version of the file that existed when the job started. If a
      // concurrent job had also changed the file, one of the two changes would be lost, and
      // check_content() would fail.
      for (const auto& [key, before] : base) {
        content_[key] = before;
        content_[key].push_back(number_of(id));
      }
      ModelJob job = jobs_.at(id);
      job.landed_at = {++landings_};
      job.stage = end;
      put(job);
      landed_.push_back(id);
    } else {
      go(id, end);
    }
  }

  void change() {
    if (jobs_.empty()) return;
    ModelJob job =
        std::next(jobs_.begin(), static_cast<std::ptrdiff_t>(pick(jobs_.size())))->second;
    if (job.stage != Stage::kStaging) return;
    if (chance(50)) {
      job.held = job.held.empty() ? "bob" : "";
    } else {
      job.is_approved = true;
    }
    put(job);
  }

  void abandon() {
    const auto waiting = model_.in_order();
    if (!waiting.empty() && chance(30)) go(waiting[pick(waiting.size())], Stage::kAbandon);
  }

  void freeze() {
    frozen_ = chance(30) ? std::set<std::string, std::less<>>{"side"} : decltype(frozen_){};
    model_.set_frozen(frozen_);
  }

  void roll_back() {
    if (landed_.empty() || !chance(30)) return;
    const ChangeSetId primary = landed_[pick(landed_.size())];
    const auto closure = model_.closure({primary}, 100);
    if (!closure) return;
    REQUIRE(std::set<ChangeSetId>(closure->begin(), closure->end()) == expected_closure(primary));
    std::set<std::uint64_t> gone;
    for (const ChangeSetId& id : *closure) {
      std::erase_if(running_, [&](const auto& one) { return one.first == id; });
      ModelJob job = jobs_.at(id);
      if (job.stage != Stage::kDone) {
        go(id, Stage::kAbandon);
        continue;
      }
      gone.insert(number_of(id));
      job.is_rolled_back = true;
      put(job);
      std::erase(landed_, id);
    }
    for (auto& [key, list] : content_) {
      const auto is_gone = [&](std::uint64_t number) { return gone.contains(number); };
      // If a change is rolled back, all changes on top of it are also rolled back.
      REQUIRE(std::is_partitioned(list.rbegin(), list.rend(), is_gone));
      std::erase_if(list, is_gone);
    }
    // In a real queue, no job runs during a rollback. In this test, jobs can, so they get the new
    // content here.
    for (auto& [id, base] : running_) {
      for (auto& [key, list] : base) list = content_[key];
    }
    for (const auto& [id, job] : jobs_) {
      if (job.stage != Stage::kDone || job.is_rolled_back) continue;
      for (const ChangeSetId& one : job.dependencies) REQUIRE_FALSE(jobs_.at(one).is_rolled_back);
    }
  }

  void fail_doomed() {
    while (true) {
      const auto doomed = model_.doomed();
      if (doomed.empty()) return;
      for (const auto& [id, why] : doomed) {
        CHECK_FALSE(why.empty());
        go(id, Stage::kFail);
      }
    }
  }

  void put(const ModelJob& job) {
    jobs_[job.name.id] = job;
    model_.put(job);
  }
  void go(const ChangeSetId& id, Stage stage) {
    jobs_.at(id).stage = stage;
    model_.put(jobs_.at(id));
  }

  static std::vector<Key> lanes_of(const ModelJob& job) {
    std::vector<Key> keys;
    for (const std::string& file : job.files) keys.emplace_back(job.branch, file);
    return keys;
  }

  // Computes the expected answers of the model.

  static bool waits(const ModelJob& job) {
    return job.stage == Stage::kQueue || job.stage == Stage::kStaging ||
           job.stage == Stage::kPending;
  }
  static bool has_landed(const ModelJob& job) {
    return job.stage == Stage::kDone && !job.is_rolled_back;
  }
  bool is_active(const ModelJob& job) const {
    if (!waits(job) || !job.held.empty() || !job.is_approved || frozen_.contains(job.branch)) {
      return false;
    }
    return std::ranges::all_of(job.dependencies, [&](const ChangeSetId& id) {
      const auto other = jobs_.find(id);
      return other != jobs_.end() &&
             (has_landed(other->second) || other->second.stage == Stage::kRun ||
              is_active(other->second));
    });
  }
  static auto own_rank(const ModelJob& job) {
    return std::tie(job.name.type, job.name.tai, job.name.id);
  }
  /// Returns JOB and the waiting jobs that depend on it, directly or indirectly.
  std::vector<const ModelJob*> lenders(const ModelJob& job) const {
    std::vector<const ModelJob*> found = {&job};
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const auto& [id, other] : jobs_) {
        const auto& needed = other.dependencies;
        if (waits(other) && std::ranges::find(needed, found[i]->name.id) != needed.end() &&
            std::ranges::find(found, &other) == found.end()) {
          found.push_back(&other);
        }
      }
    }
    return found;
  }

  void check() {
    check_running();
    check_ready();
    check_content();
  }

  /// Checks that no two running jobs change the same file, and that all dependencies of running
  /// jobs have landed.
  void check_running() const {
    std::set<Key> taken;
    for (const auto& [id, base] : running_) {
      const ModelJob& job = jobs_.at(id);
      REQUIRE(job.stage == Stage::kRun);
      for (const Key& key : lanes_of(job)) REQUIRE(taken.insert(key).second);
      for (const ChangeSetId& one : job.dependencies) REQUIRE(has_landed(jobs_.at(one)));
    }
  }

  void check_ready() const {
    std::set<Key> taken;
    for (const auto& [id, base] : running_) {
      for (const Key& key : lanes_of(jobs_.at(id))) taken.insert(key);
    }
    const auto ready = model_.ready({});
    const std::set<ChangeSetId> is_ready(ready.begin(), ready.end());
    std::vector<const ModelJob*> waiting;
    for (const auto& [id, job] : jobs_) {
      if (waits(job)) waiting.push_back(&job);
    }
    for (const ModelJob* job : waiting) {
      if (!is_active(*job)) continue;
      const auto lenders_of_it = lenders(*job);
      const auto best =
          std::ranges::min(lenders_of_it, {}, [](const ModelJob* one) { return own_rank(*one); });
      bool may_go = std::ranges::all_of(
          job->dependencies, [&](const ChangeSetId& id) { return has_landed(jobs_.at(id)); });
      for (const Key& key : lanes_of(*job)) may_go = may_go && !taken.contains(key);
      for (const ModelJob* other : waiting) {
        if (other == job || !shares(*job, *other)) continue;
        const auto others = lenders(*other);
        const auto best_other =
            std::ranges::min(others, {}, [](const ModelJob* one) { return own_rank(*one); });
        // Both jobs inherit their rank from the same more urgent job. If one of the two depends on
        // the other, the dependency goes first. Otherwise the model decides.
        if (best == best_other) {
          if (std::ranges::find(lenders_of_it, other) != lenders_of_it.end()) continue;
          if (std::ranges::find(others, job) != others.end())
            may_go = false;
          else if (!model_comes_first(*job, *other))
            may_go = false;
          continue;
        }
        if (own_rank(*best_other) < own_rank(*best)) may_go = false;
      }
      INFO(job->name.text());
      REQUIRE(is_ready.contains(job->name.id) == may_go);
      CHECK(model_.why_not(job->name.id, {}).empty() == may_go);
    }
    for (const ChangeSetId& id : ready) REQUIRE(is_active(jobs_.at(id)));
    // If no job is running, the first job in the order must be ready, unless it is passive.
    const auto order = model_.in_order();
    if (running_.empty() && !order.empty() && is_active(jobs_.at(order.front()))) {
      REQUIRE(is_ready.contains(order.front()));
    }
  }

  std::set<ChangeSetId> expected_closure(const ChangeSetId& primary) const {
    std::set<ChangeSetId> closure = {primary};
    const auto is_taken_along = [&](const ModelJob& job) {
      if (!has_landed(job) && (is_over(job.stage) || job.stage == Stage::kPrequeue)) return false;
      return std::ranges::any_of(closure, [&](const ChangeSetId& id) {
        const ModelJob& member = jobs_.at(id);
        return std::ranges::find(job.dependencies, id) != job.dependencies.end() ||
               (has_landed(job) && has_landed(member) && shares(job, member) &&
                member.landed_at < job.landed_at);
      });
    };
    for (std::size_t before = 0; before != closure.size();) {
      before = closure.size();
      for (const auto& [id, job] : jobs_) {
        if (is_taken_along(job)) closure.insert(id);
      }
    }
    return closure;
  }

  bool model_comes_first(const ModelJob& a, const ModelJob& b) const {
    const auto order = model_.in_order();
    return std::ranges::find(order, a.name.id) < std::ranges::find(order, b.name.id);
  }
  static bool shares(const ModelJob& a, const ModelJob& b) {
    if (a.branch != b.branch) return false;
    return std::ranges::find_first_of(a.files, b.files) != a.files.end();
  }

  /// Checks that the files have the content that results from landing the change sets one by one.
  void check_content() const {
    Content expected;
    for (const ChangeSetId& id : landed_) {
      for (const Key& key : lanes_of(jobs_.at(id))) expected[key].push_back(number_of(id));
    }
    for (const auto& [key, list] : content_) {
      const auto found = expected.find(key);
      REQUIRE(list == (found == expected.end() ? std::vector<std::uint64_t>() : found->second));
    }
  }

  std::mt19937 random_;
  Model model_;
  std::map<ChangeSetId, ModelJob> jobs_;
  std::set<std::string, std::less<>> frozen_;
  std::vector<std::pair<ChangeSetId, Content>> running_;
  std::vector<ChangeSetId> landed_;
  Content content_;
  std::uint64_t numbers_ = 0;
  std::int64_t landings_ = 0;
};

}  // namespace

TEST_CASE("in every history order, lanes and dependencies are respected, and no job waits forever" *
          doctest::test_suite("long")) {
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    CAPTURE(seed);
    World world(seed);
    for (int i = 0; i < kSteps; ++i) world.step();
    world.end();
  }
}
