#include "quarry/changes/executor.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "landing_rights.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"

namespace quarry::changes {

namespace {

Outcome outcome(Verdict verdict, std::string why) {
  return {.verdict = verdict, .why = std::move(why), .landed = {}};
}

/// Returns the verdict after an error. System errors and conflicts with other processes are
/// temporary.
Verdict verdict_on(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kDenied:
    case ErrorCode::kLimit:
    case ErrorCode::kDiscarded:
      return Verdict::kFailed;
    case ErrorCode::kNoSpace:
      return Verdict::kNoRoom;
    default:
      return Verdict::kDeferred;
  }
}

Outcome troubled(const Error& error) {
  base::log(base::LogLevel::kError, "{}", error.message);
  switch (error.code) {
    case ErrorCode::kNoSpace:
      return outcome(Verdict::kNoRoom, "the server's disk is full");
    case ErrorCode::kBusy:
      return outcome(Verdict::kDeferred, "another process is writing to the repository");
    case ErrorCode::kConflict:
      // As long as the servers of the stream do not answer, the change set waits and does not fail.
      return outcome(Verdict::kNoRoom, "the other hosts have not confirmed the check-in");
    default:
      return outcome(Verdict::kDeferred, std::string(kServersTrouble));
  }
}

Outcome failed(const Error& error) {
  const Verdict verdict = verdict_on(error.code);
  return verdict == Verdict::kFailed ? outcome(verdict, error.message) : troubled(error);
}

Outcome outcome_of(const LandingOutcome& landed, const Executor::Say& say) {
  if (landed) {
    return {.verdict = Verdict::kLanded,
            .why = fmt::format("{} {}", landed->was_there ? "had already landed as" : "landed as",
                               landed->check_in.str()),
            .landed = landed->check_in};
  }
  const Refusal& refusal = landed.error();
  if (!refusal.log.empty()) say(refusal.log);
  return outcome(refusal.kind == RefusalKind::kForked ? Verdict::kDeferred : Verdict::kFailed,
                 refusal.reason);
}

Result<ChangeSetContent> open_tarball(TarballReaders& readers, const ChangeSetName& name,
                                      const std::filesystem::path& tarball,
                                      const ExecutorOptions& options) {
  // Use the contents that were cached when the tarball was checked, if they are still in the cache.
  auto kept = take_content(options.temporary, name, options.tarball);
  if (kept) return kept;
  const base::Fd file(::open(tarball.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return fail_errno("cannot read {}", tarball.string());
  return readers.read(file.get(), options.tarball, options.temporary);
}

/// Returns the landing order for JOB, without files.
LandingOrder order_of(const Job& job) {
  return {.id = job.name.id,
          .branch = job.meta.target,
          .comment = job.meta.comment,
          .author = job.meta.author.empty() ? job.submitter : job.meta.author,
          .submitter = job.submitter,
          .address = job.address,
          .base = job.meta.base,
          .files = {},
          .merges = job.meta.merges,
          .rolls_back = {}};
}

/// Returns the landing order for JOB, with the files in TARBALL. Passes on errors from
/// TarballReaders::read().
Result<LandingOrder> order_of(const Job& job, const std::filesystem::path& tarball,
                              TarballReaders& readers, const ExecutorOptions& options) {
  QUARRY_TRY_ASSIGN(const ChangeSetContent content,
                    open_tarball(readers, job.name, tarball, options));
  LandingOrder order = order_of(job);
  std::unordered_map<std::string_view, std::string_view> old_names;
  for (const Rename& each : job.meta.renames) old_names.emplace(each.to, each.from);
  for (const SubmittedFile& file : content.files()) {
    QUARRY_TRY_ASSIGN(std::string text, content.read(file));
    const auto old_name = old_names.find(file.name);
    order.files.push_back(
        {file.name, std::make_shared<const std::string>(std::move(text)), file.permission,
         std::string(old_name == old_names.end() ? std::string_view() : old_name->second)});
  }
  for (std::string& name : content.deletions()) {
    order.files.push_back({.name = std::move(name), .content = nullptr, .permission = 0});
  }
  return order;
}

struct Item {
  LandingOrder order;
  const Executor::Say* say;
  Outcome* outcome;
};
using Items = std::span<const Item>;

void set_all(Items items, const Outcome& outcome) {
  for (const Item& item : items) *item.outcome = outcome;
}

/// Returns whether the job can still land later. If it can, later jobs that touch the same files
/// have to wait.
bool is_deferred(const Outcome& outcome) {
  return outcome.verdict == Verdict::kDeferred || outcome.verdict == Verdict::kNoRoom;
}

/// Returns the outcome of a job that touches the same files as the earlier job OTHER. OTHER was
/// deferred, and the job must not overtake it.
Outcome behind(const Outcome& other) {
  return outcome(other.verdict, "a change set ahead of it was deferred: " + other.why);
}

void say_to_all(Items items, std::string_view text) {
  for (const Item& item : items) (*item.say)(text);
}

/// Returns the input of a gate for the ITEMS that have check-ins in PROSPECT.
GateCase case_of(Items items, const Prospect& prospect) {
  GateCase gate_case{.change_set = {},
                     .branch = prospect.branch,
                     .tip = prospect.tip ? std::string(prospect.tip->str()) : std::string(),
                     .author = {},
                     .files = {},
                     .visit_tree = {}};
  std::vector<std::string> authors;
  for (const Prospect::CheckIn& check_in : prospect.check_ins) {
    const LandingOrder& order = items[check_in.order].order;
    gate_case.change_set += gate_case.change_set.empty() ? "" : "\n";
    gate_case.change_set += order.id.str();
    if (std::ranges::find(authors, order.author) == authors.end()) {
      gate_case.author += (authors.empty() ? "" : "\n") + order.author;
      authors.push_back(order.author);
    }
    for (const ChangedFile& file : order.files) gate_case.files.push_back(file.name);
  }
  return gate_case;
}

class RepositoryExecutor final : public Executor {
 public:
  explicit RepositoryExecutor(ExecutorOptions options) : options_(std::move(options)) {}

  std::vector<Outcome> land_all(const std::vector<Task>& tasks, const Stop& stop, Turn& turn,
                                const Decided& decided) override;
  Outcome roll_back(const Job& rollback, const std::vector<Job>& landed, const Stop& stop,
                    const Say& say) override;

 private:
  Result<void> open();
  using DecidedItems = std::function<void(Items)>;
  void land_together(Items items, const Stop& stop, Turn& turn, const DecidedItems& decided);
  bool land_at_once(Items items, const Stop& stop, Turn& turn);
  Result<std::vector<LandingOutcome>> try_to_land(Items items, const Gate& gate, const Stop& stop);
  Result<void> ask_gate(Items items, const Prospect& prospect, const Stop& stop,
                        std::optional<Outcome>& decided);

  ExecutorOptions options_;
  TarballReaders readers_;  // created early: forking is faster while the process is small
  std::unique_ptr<repository::Repository> repository_;
  std::unique_ptr<Lander> lander_;  // lands in repository_
};

Result<void> RepositoryExecutor::open() {
  if (repository_ && repository_->was_replaced()) {
    lander_.reset();
    repository_.reset();
  }
  if (!repository_) {
    QUARRY_TRY_ASSIGN(repository_,
                      repository::Repository::open(options_.repository, options_.open));
    lander_ = std::make_unique<Lander>(*repository_, options_.landing);
  }
  QUARRY_TRY_ASSIGN(const repository::Snapshot snapshot, repository_->snapshot());
  return repository_->check_schema();
}

/// Lands all ITEMS or none. If a stop is requested, a long wait ends early.
Result<std::vector<LandingOutcome>> RepositoryExecutor::try_to_land(Items items, const Gate& gate,
                                                                    const Stop& stop) {
  struct Bound {
    repository::Repository& repository;
    ~Bound() { repository.bound_by({}); }
  } bound{*repository_};
  repository_->bound_by([&] { return stop.wanted().has_value(); });
  std::vector<LandingOrder> orders;
  for (const Item& item : items) orders.push_back(item.order);
  auto outcomes = lander_->land(orders, gate);
  if (!outcomes) return outcomes;
  repository_->bound_by({});
  repository_->keep_log_short();
  return outcomes;
}

Result<void> RepositoryExecutor::ask_gate(Items items, const Prospect& prospect, const Stop& stop,
                                          std::optional<Outcome>& decided) {
  QUARRY_TRY_ASSIGN(const bool makes_links, lander_->makes_links());
  GateCase gate_case = case_of(items, prospect);
  gate_case.visit_tree = [&](const FileVisitor& visit) {
    return lander_->visit_tree(
        prospect, [&](std::string_view name, char permission, std::string_view content) {
          const bool is_plain = permission == 'l' && !makes_links;
          return visit(name, is_plain ? '\0' : permission, content);
        });
  };
  const auto verdict =
      run_gate(options_.gate, gate_case, [&] { return stop.wanted().has_value(); });
  if (!verdict) {
    base::log(base::LogLevel::kError, "cannot run the gate: {}", verdict.error().message);
    // If the server causes the error, retry without a limit, so that the job does not fail.
    const ErrorCode code = verdict.error().code;
    const bool is_servers = code == ErrorCode::kInvalid || code == ErrorCode::kDenied;
    decided = outcome(is_servers ? Verdict::kNoRoom : Verdict::kDeferred,
                      "the gate cannot be run: see the server's log");
    return std::unexpected(verdict.error());
  }
  if (items.size() > 1) {
    say_to_all(items, fmt::format("{} (one run for {} change sets)", verdict->reason,
                                  prospect.check_ins.size()));
  }
  const bool is_theirs = items.size() == 1 || verdict->decision == GateDecision::kLand;
  if (is_theirs && !verdict->output.empty()) say_to_all(items, verdict->output);
  switch (verdict->decision) {
    case GateDecision::kLand:
      return {};
    case GateDecision::kSkip:
      decided = outcome(Verdict::kSkipped, verdict->reason);
      break;
    case GateDecision::kTryLater:
      decided = outcome(Verdict::kDeferred, verdict->reason);
      break;
    case GateDecision::kFail:
      decided = outcome(Verdict::kFailed, verdict->reason);
      break;
    case GateDecision::kInterrupted:
      break;
  }
  return fail(ErrorCode::kDenied, verdict->reason);
}

/// Lands ITEMS together, or sets the outcome that applies to all of them. Returns false if they
/// failed together, and not all of them have to fail.
bool RepositoryExecutor::land_at_once(Items items, const Stop& stop, Turn& turn) {
  std::optional<Outcome> decided;
  bool has_asked = false;
  Gate gate;
  if (!options_.gate.command.empty()) {
    gate = [&](const Prospect& prospect) -> Result<void> {
      if (has_asked) {
        say_to_all(items,
                   fmt::format("the branch {} has moved: the gate runs again", prospect.branch));
      }
      QUARRY_TRY(ask_gate(items, prospect, stop, decided));
      if (!options_.landing.asks_gate_again || std::exchange(has_asked, true)) return {};
      return turn.take();
    };
  }
  const auto outcomes = try_to_land(items, gate, stop);
  if (has_asked) turn.end();
  if (outcomes) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      *items[i].outcome = outcome_of((*outcomes)[i], *items[i].say);
    }
    return true;
  }
  const auto wanted = stop.wanted();
  const Outcome done = decided  ? *decided
                       : wanted ? outcome(*wanted, "stopped")
                                : failed(outcomes.error());
  set_all(items, done);
  // The cause of a deferral is in the system and not in a job, so it applies to all jobs.
  return items.size() == 1 || is_deferred(done) || (!decided && wanted);
}

/// Lands ITEMS together. If this fails, tries the two halves separately. In the end, only the jobs
/// that cause the failure fail.
void RepositoryExecutor::land_together(Items items, const Stop& stop, Turn& turn,
                                       const DecidedItems& decided) {
  if (items.empty()) return;
  if (const auto wanted = stop.wanted()) return set_all(items, outcome(*wanted, "stopped"));
  if (turn.must_give_way()) return set_all(items, outcome(Verdict::kGaveWay, {}));
  if (land_at_once(items, stop, turn)) return decided(items);
  const Items first = items.first(items.size() / 2), second = items.subspan(items.size() / 2);
  land_together(first, stop, turn, decided);
  const Outcome& last = *first.back().outcome;
  // Without a gate, jobs in SECOND can touch the same files as jobs in FIRST, and must not overtake
  // a deferred job. With a gate, the jobs of a batch never touch the same files.
  if (options_.gate.command.empty() && is_deferred(last)) return set_all(second, behind(last));
  land_together(second, stop, turn, decided);
}

std::vector<Outcome> RepositoryExecutor::land_all(const std::vector<Task>& tasks, const Stop& stop,
                                                  Turn& turn, const Decided& decided) {
  std::vector<Outcome> outcomes(tasks.size());
  if (const auto opened = open(); !opened) {
    std::ranges::fill(outcomes, troubled(opened.error()));
    return outcomes;
  }
  const bool may_be_lines = options_.gate.command.empty();
  std::vector<Item> items;
  std::uint64_t size = 0;
  const auto land_items = [&] {
    land_together(items, stop, turn, [&](Items done) {
      if (decided) decided(std::span(outcomes.data(), done.back().outcome + 1));
    });
    items.clear();
    size = 0;
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (may_be_lines && items.empty() && i > 0 && is_deferred(outcomes[i - 1])) {
      outcomes[i] = behind(outcomes[i - 1]);
      continue;
    }
    auto order = order_of(tasks[i].job, tasks[i].tarball, readers_, options_);
    if (!order) {
      outcomes[i] = failed(order.error());
      // Land the collected jobs now, so that `items` is empty. The next iteration then defers its
      // job, which must not overtake this job.
      if (may_be_lines && is_deferred(outcomes[i])) land_items();
      continue;
    }
    order->objection = [this, &job = tasks[i].job] {
      return objection_to_landing(*repository_, options_.rights, job);
    };
    for (const ChangedFile& file : order->files) size += file.content ? file.content->size() : 0;
    items.push_back({.order = std::move(*order), .say = &tasks[i].say, .outcome = &outcomes[i]});
    // Limit the memory for files to the limit for one change set.
    if (size >= options_.tarball.expanded) land_items();
  }
  land_items();
  return outcomes;
}

Outcome RepositoryExecutor::roll_back(const Job& rollback, const std::vector<Job>& landed,
                                      const Stop& stop, const Say& say) {
  if (landed.empty()) return outcome(Verdict::kFailed, "none of its change sets landed");
  LandingOrder order = order_of(rollback);
  order.base.clear();
  order.objection = [this, &rollback] {
    return objection_to_landing(*repository_, options_.rights, rollback);
  };
  if (order.branch.empty()) order.branch = landed.front().meta.target;
  for (const Job& job : landed) {
    if (job.meta.target != order.branch) {
      return outcome(
          Verdict::kFailed,
          fmt::format("{} landed on the branch {}, not on {}: use one rollback per branch",
                      job.name.id.str(), job.meta.target, order.branch));
    }
    order.rolls_back.push_back({job.name.id, job.submitter});
  }
  if (const auto opened = open(); !opened) return troubled(opened.error());
  Outcome done;
  const Item item{.order = std::move(order), .say = &say, .outcome = &done};
  const auto outcomes = try_to_land({&item, 1}, nullptr, stop);
  if (outcomes) return outcome_of(outcomes->front(), say);
  const auto wanted = stop.wanted();
  return wanted ? outcome(*wanted, "stopped") : failed(outcomes.error());
}

}  // namespace

std::unique_ptr<Executor> make_executor(ExecutorOptions options) {
  return std::make_unique<RepositoryExecutor>(std::move(options));
}

}  // namespace quarry::changes
