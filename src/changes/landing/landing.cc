#include "quarry/changes/landing.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "preparation.h"
#include "quarry/repository/check_ins.h"
#include "stored_files.h"
#include "tree_checksum.h"

namespace quarry::changes {

using artifact::HashName;
using repository::Receipt;

namespace {

// Maximum number of branches for which a TreeChecksum is cached.
constexpr std::size_t kMaxChecksums = 8;

/// Calls ACTION, and converts an exception into an error. Some functions of a repository throw if
/// the file cannot be read, or if their time limit has passed.
template <typename Action>
auto guarded(Action&& action) -> decltype(action()) {
  try {
    return action();
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::kIo, error.what());
  }
}

/// Returns RESULT, which comes from a Fence. Errors get the code kConflict.
template <typename T>
Result<T> unfinished(Result<T> result) {
  if (result) return result;
  return fail(ErrorCode::kConflict, "cannot publish the check-in: {}", result.error().message);
}

}  // namespace

struct Lander::State {
  State(repository::Repository& open, const LandingOptions& landing_options)
      : repository(open), options(landing_options), stored(open, options.kept_contents) {}

  TreeChecksum& checksum_of(const std::string& branch);
  void remember(const Prospect& prospect);
  Result<bool> is_still_so(Receipt& receipt, const Prospect& prospect);
  enum class Step : std::uint8_t { kDone, kStale, kNotPublished };
  Result<Step> store(const Prospect& prospect);

  repository::Repository& repository;
  LandingOptions options;
  StoredFiles stored;
  std::map<std::string, TreeChecksum> checksums;  // by branch

  // The tip after the last landing. It is valid while repository.state() is equal to `state`.
  struct KnownTip {
    std::uint64_t state;
    std::string branch;
    repository::BranchTip tip;
  };
  std::optional<KnownTip> known_tip;
};

TreeChecksum& Lander::State::checksum_of(const std::string& branch) {
  if (checksums.size() >= kMaxChecksums && !checksums.contains(branch)) checksums.clear();
  return checksums[branch];
}

/// Caches the landed check-ins for the next landing. Must be called directly after the commit,
/// because repository.state() must not include changes by other processes yet.
void Lander::State::remember(const Prospect& prospect) {
  for (const auto& [name, content] : prospect.added) stored.remember(name, content);
  const HashName& last = prospect.check_ins.back().name;
  const std::size_t count = prospect.check_ins.size();
  known_tip = KnownTip{repository.state(), prospect.branch, {last, prospect.date, 1}};
  stored.remember(std::make_shared<const StoredCheckIn>(
      StoredCheckIn{.name = last,
                    .files = prospect.tree,
                    .date = prospect.date,
                    .parents = {count > 1 ? prospect.check_ins[count - 2].name : *prospect.tip},
                    .manifest = prospect.added.at(last)}));
}

/// Returns whether PROSPECT is still valid: its tip is the only open leaf of the branch, none of
/// its change sets has landed, and their submitters are still allowed to land them. If another leaf
/// has been pushed, PROSPECT is invalid even if this leaf is older than the tip. Fossil would
/// continue from the tip, but the result must not depend on the time of the push. If the repository
/// file has not changed, no queries are made, because they take a long time if there are many
/// branches.
Result<bool> Lander::State::is_still_so(Receipt& receipt, const Prospect& prospect) {
  if (repository.state() == prospect.state) return true;
  repository::CheckIns check_ins(repository);
  for (const Prospect::CheckIn& each : prospect.check_ins) {
    QUARRY_TRY_ASSIGN(const auto found, check_ins.with_tag(each.tag, each.submitter));
    if (!found.empty() || (each.objection && each.objection())) return false;
  }
  const auto open_leaves = receipt.require_tip(prospect.branch, *prospect.tip);
  if (open_leaves) return *open_leaves == 1;
  const ErrorCode code = open_leaves.error().code;
  if (code == ErrorCode::kConflict || code == ErrorCode::kNotFound) return false;
  return std::unexpected(open_leaves.error());
}

Lander::Lander(repository::Repository& repository, const LandingOptions& options)
    : state_(std::make_unique<State>(repository, options)) {}
Lander::~Lander() = default;

Result<Prospect> Lander::prepare(std::span<const LandingOrder> orders) {
  if (orders.empty()) return Prospect{};
  return guarded([&]() -> Result<Prospect> {
    QUARRY_TRY_ASSIGN(const repository::Snapshot snapshot, state_->repository.snapshot());
    const std::string& branch = orders.front().branch;
    std::optional<repository::BranchTip> tip;
    if (const auto& known = state_->known_tip;
        known && known->state == state_->repository.state() && known->branch == branch) {
      tip = known->tip;
    }
    return Preparation(state_->repository, state_->stored, state_->checksum_of(branch))
        .run(orders, tip);
  });
}

/// Stores PROSPECT in one transaction. Returns kNotPublished if other hosts' changes came first.
Result<Lander::State::Step> Lander::State::store(const Prospect& prospect) {
  QUARRY_TRY_ASSIGN(Receipt receipt, repository.receive());
  QUARRY_TRY_ASSIGN(const bool is_valid, is_still_so(receipt, prospect));
  if (!is_valid) return Step::kStale;
  for (const Prospect::CheckIn& check_in : prospect.check_ins) {
    receipt.set_sender(check_in.sender);
    for (const Prospect::Artifact& artifact : check_in.artifacts) {
      QUARRY_TRY(receipt.store({.name = artifact.name,
                                .payload = artifact.payload,
                                .delta_source = artifact.delta_source,
                                .is_compressed = true,
                                .declared_size = {}}));
    }
  }
  if (options.fence) {
    QUARRY_TRY_ASSIGN(const bool is_published, unfinished(options.fence->publish(repository)));
    if (!is_published) return Step::kNotPublished;
  }
  QUARRY_TRY(receipt.commit());
  remember(prospect);
  return Step::kDone;
}

Result<bool> Lander::commit(const Prospect& prospect) {
  if (prospect.check_ins.empty()) return true;
  return guarded([&]() -> Result<bool> {
    for (int attempt = 0; attempt < state_->options.attempts; ++attempt) {
      QUARRY_TRY_ASSIGN(const auto step, state_->store(prospect));
      if (step != State::Step::kNotPublished) return step == State::Step::kDone;
      QUARRY_TRY(unfinished(state_->options.fence->catch_up()));
    }
    return fail(ErrorCode::kConflict, "other hosts published changes before each of {} attempts",
                state_->options.attempts);
  });
}

Result<std::vector<LandingOutcome>> Lander::land(std::span<const LandingOrder> orders,
                                                 const Gate& gate) {
  std::size_t passed = 0;  // number of check-ins that the gate has accepted
  for (int attempt = 0; attempt < state_->options.attempts; ++attempt) {
    QUARRY_TRY_ASSIGN(Prospect prospect, prepare(orders));
    const std::size_t count = prospect.check_ins.size();
    if (gate && count > 0 && (state_->options.asks_gate_again || passed != count)) {
      QUARRY_TRY(gate(prospect));
      passed = count;
    }
    QUARRY_TRY_ASSIGN(const bool is_done, commit(prospect));
    if (is_done) return std::move(prospect.outcomes);
  }
  return fail(ErrorCode::kBusy, "the tip of the branch {} moved {} times during the landing",
              orders.front().branch, state_->options.attempts);
}

Result<bool> Lander::makes_links() {
  return guarded([&]() -> Result<bool> {
    QUARRY_TRY_ASSIGN(const repository::Snapshot snapshot, state_->repository.snapshot());
    return state_->repository.settings().get_bool("allow-symlinks", false);
  });
}

Result<void> Lander::visit_tree(const Prospect& prospect, const FileVisitor& visit) {
  return guarded([&]() -> Result<void> {
    QUARRY_TRY_ASSIGN(const repository::Snapshot snapshot, state_->repository.snapshot());
    for (const auto& [name, file] : prospect.tree) {
      const auto added = prospect.added.find(file.hash);
      const auto found = added != prospect.added.end() ? Result<Content>(added->second)
                                                       : state_->stored.content(file.hash);
      QUARRY_TRY_ASSIGN(const Content content, found);
      QUARRY_TRY(visit(name, file.permission, *content));
    }
    return {};
  });
}

}  // namespace quarry::changes
