#include "quarry/changes/executor.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "quarry/base/fd.h"

namespace quarry::changes {

using base::ErrorCode;

namespace {

Outcome outcome(Verdict verdict, std::string why) {
  return {.verdict = verdict, .why = std::move(why), .landed = {}};
}

/// What is wrong with the machine, or in somebody's way, may be right later.
Verdict verdict_on(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kDenied:
    case ErrorCode::kLimit:
    case ErrorCode::kDiscarded:
      return Verdict::kFailed;
    default:
      return Verdict::kPutOff;
  }
}

Outcome failed(const base::Error& error) {
  return outcome(verdict_on(error.code), error.message);
}

Outcome told(const LandingOutcome& landed, const Executor::Say& say) {
  if (landed) {
    return {.verdict = Verdict::kLanded,
            .why = fmt::format("{} {}", landed->was_there ? "has landed before, as" : "landed as",
                               landed->check_in.str()),
            .landed = landed->check_in};
  }
  const Refusal& refusal = landed.error();
  if (!refusal.log.empty()) say(refusal.log);
  return outcome(refusal.kind == RefusalKind::kForked ? Verdict::kPutOff : Verdict::kFailed,
                 refusal.reason);
}

base::Result<ChangeSetContent> open_tarball(const std::filesystem::path& tarball,
                                            const ExecutorOptions& options) {
  const base::Fd file(::open(tarball.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return base::fail_errno(fmt::format("cannot read {}", tarball.string()));
  return read_tarball_apart(file.get(), options.tarball, options.temporary);
}

/// All of JOB's order but its files.
LandingOrder order_of(const Job& job) {
  return {.id = job.name.id,
          .branch = job.meta.target,
          .comment = job.meta.comment,
          .author = job.meta.author.empty() ? job.submitter : job.meta.author,
          .submitter = job.submitter,
          .address = job.address,
          .base = job.meta.base,
          .files = {},
          .takes_back = {}};
}

base::Result<LandingOrder> order_of(const Job& job, const ChangeSetContent& content) {
  LandingOrder order = order_of(job);
  for (const SubmittedFile& file : content.files()) {
    QUARRY_TRY_ASSIGN(std::string text, content.read(file));
    order.files.push_back(
        {file.name, std::make_shared<const std::string>(std::move(text)), file.permission});
  }
  for (std::string& name : content.deletions()) {
    order.files.push_back({.name = std::move(name), .content = nullptr, .permission = 0});
  }
  return order;
}

class RepositoryExecutor final : public Executor {
 public:
  explicit RepositoryExecutor(ExecutorOptions options) : options_(std::move(options)) {}

  Outcome land(const Job& job, const std::filesystem::path& tarball, const Stop& stop,
               const Say& say) override;
  Outcome take_back(const Job& rollback, const std::vector<Job>& landed, const Stop& stop,
                    const Say& say) override;

 private:
  base::Result<void> open();
  Outcome land_order(const LandingOrder& order, const Gate& gate, const Stop& stop, const Say& say);
  base::Result<void> ask_gate(const LandingOrder& order, const Prospect& prospect, const Stop& stop,
                              const Say& say, std::optional<Outcome>& decided);

  ExecutorOptions options_;
  std::unique_ptr<repository::Repository> repository_;
  std::unique_ptr<Lander> lander_;  // of that
};

base::Result<void> RepositoryExecutor::open() {
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

/// Lands ORDER; whatever keeps STOP waiting for long ends when it comes.
Outcome RepositoryExecutor::land_order(const LandingOrder& order, const Gate& gate,
                                       const Stop& stop, const Say& say) {
  if (const auto opened = open(); !opened) return outcome(Verdict::kPutOff, opened.error().message);
  struct Bound {
    repository::Repository& repository;
    ~Bound() { repository.bound_by({}); }
  } bound{*repository_};
  repository_->bound_by([&] { return stop.wanted().has_value(); });
  const auto outcomes = lander_->land({&order, 1}, gate);
  if (!outcomes) {
    if (const auto wanted = stop.wanted()) return outcome(*wanted, "stopped");
    return failed(outcomes.error());
  }
  repository_->bound_by({});
  repository_->keep_log_short();
  return told(outcomes->front(), say);
}

base::Result<void> RepositoryExecutor::ask_gate(const LandingOrder& order, const Prospect& prospect,
                                                const Stop& stop, const Say& say,
                                                std::optional<Outcome>& decided) {
  QUARRY_TRY_ASSIGN(const bool makes_links, lander_->makes_links());
  GateCase gate_case{.change_set = std::string(order.id.str()),
                     .branch = order.branch,
                     .tip = prospect.tip ? std::string(prospect.tip->str()) : std::string(),
                     .author = order.author,
                     .files = {},
                     .write_tree = {}};
  for (const ChangedFile& file : order.files) gate_case.files.push_back(file.name);
  gate_case.write_tree = [&](GateTree& tree) {
    return lander_->visit_tree(
        prospect, [&](std::string_view name, char permission, std::string_view content) {
          const bool is_plain = permission == 'l' && !makes_links;
          return tree.add(name, is_plain ? '\0' : permission, content);
        });
  };
  const auto verdict =
      run_gate(options_.gate, gate_case, [&] { return stop.wanted().has_value(); });
  if (!verdict) {
    decided = outcome(Verdict::kPutOff, "the gate cannot be run: " + verdict.error().message);
    return std::unexpected(verdict.error());
  }
  if (!verdict->output.empty()) say(verdict->output);
  switch (verdict->decision) {
    case GateDecision::kLand:
      return {};
    case GateDecision::kSkip:
      decided = outcome(Verdict::kSkipped, verdict->reason);
      break;
    case GateDecision::kTryLater:
      decided = outcome(Verdict::kPutOff, verdict->reason);
      break;
    case GateDecision::kFail:
      decided = outcome(Verdict::kFailed, verdict->reason);
      break;
    case GateDecision::kInterrupted:
      break;  // why is what stop says
  }
  return base::fail(ErrorCode::kDenied, verdict->reason);
}

Outcome RepositoryExecutor::land(const Job& job, const std::filesystem::path& tarball,
                                 const Stop& stop, const Say& say) {
  const auto content = open_tarball(tarball, options_);
  if (!content) return failed(content.error());
  const auto order = order_of(job, *content);
  if (!order) return failed(order.error());
  std::optional<Outcome> decided;
  Gate gate;
  if (!options_.gate.command.empty()) {
    gate = [&](const Prospect& prospect) { return ask_gate(*order, prospect, stop, say, decided); };
  }
  Outcome done = land_order(*order, gate, stop, say);
  return decided && done.verdict != Verdict::kLanded ? *decided : done;
}

Outcome RepositoryExecutor::take_back(const Job& rollback, const std::vector<Job>& landed,
                                      const Stop& stop, const Say& say) {
  if (landed.empty()) return outcome(Verdict::kFailed, "nothing that it names has landed");
  LandingOrder order = order_of(rollback);
  order.base.clear();
  if (order.branch.empty()) order.branch = landed.front().meta.target;
  for (const Job& job : landed) {
    if (job.meta.target != order.branch) {
      return outcome(Verdict::kFailed,
                     fmt::format("{} landed on the branch {}, not on {}: what landed on several "
                                 "branches is taken back by a rollback for each",
                                 job.name.id.str(), job.meta.target, order.branch));
    }
    order.takes_back.push_back(job.name.id);
  }
  return land_order(order, nullptr, stop, say);
}

}  // namespace

std::unique_ptr<Executor> make_executor(ExecutorOptions options) {
  return std::make_unique<RepositoryExecutor>(std::move(options));
}

}  // namespace quarry::changes
