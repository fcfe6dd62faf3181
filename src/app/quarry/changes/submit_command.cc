// quarry submit: builds a change set from the changes in a check-out or from given files, sends it
// to a server's queue, and prints its id.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "changed_files.h"
#include "changes_commands.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "quarry/base/escape.h"
#include "quarry/changes/explanation.h"
#include "quarry/changes/job.h"
#include "quarry/changes/tarball.h"
#include "quarry/transport/retry.h"
#include "queue_text.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

using std::chrono::milliseconds;

constexpr std::size_t kMaxTarball = std::size_t{1} << 30;
constexpr milliseconds kFirstPause{20};
constexpr milliseconds kLongestPause{1'000};
constexpr milliseconds kFirstReasonPause{1'000};
constexpr milliseconds kLongestReasonPause{60'000};
// Time for which to retry while the server is unreachable, for example during a restart.
constexpr milliseconds kRetryTime{60'000};

/// Returns the elements of CHANGED that match NAMES, which are files or folders relative to FOLDER.
/// The old and the new name of a renamed file are chosen together. Errors: one of NAMES does not
/// match any element.
Result<std::vector<ChangedFile>> chosen(const std::vector<ChangedFile>& changed,
                                        const std::vector<std::string>& names,
                                        const fs::path& folder) {
  std::vector<bool> is_chosen(changed.size());
  for (const std::string& name : names) {
    const fs::path path = (folder / name).lexically_normal();
    bool is_any = false;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      const std::string below = changed[i].path.lexically_relative(path).string();
      if (below.empty() || below.starts_with("..")) continue;
      is_chosen[i] = is_any = true;
    }
    if (!is_any) {
      return fail(ErrorCode::kNotFound, "{} has not changed", base::printable(name));
    }
  }
  // Renames can form chains.
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (changed[i].prior.empty()) continue;
      const auto old = std::ranges::find(changed, changed[i].prior, &ChangedFile::name);
      const auto before = static_cast<std::size_t>(old - changed.begin());
      if (is_chosen[i] == is_chosen[before]) continue;
      is_chosen[i] = is_chosen[before] = is_new = true;
    }
  }
  std::vector<ChangedFile> files;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (is_chosen[i]) files.push_back(changed[i]);
  }
  return files;
}

/// Returns the files to submit. MERGES are the check-ins that were merged into CHECKOUT.
Result<std::vector<ChangedFile>> files_of(const SubmitArguments& arguments,
                                          const std::optional<Checkout>& checkout,
                                          const std::vector<changes::MergedCheckIn>& merges) {
  const fs::path folder = fs::current_path();
  if (!checkout) {
    QUARRY_TRY_ASSIGN(auto files, files_named(arguments.files, folder, folder, false));
    QUARRY_TRY_ASSIGN(auto gone, files_named(arguments.deletions, folder, folder, true));
    std::ranges::move(gone, std::back_inserter(files));
    if (!files.empty()) return files;
    return fail(ErrorCode::kInvalid, "not in an open check-out: name the files to submit");
  }
  if (!arguments.deletions.empty()) {
    return fail(ErrorCode::kInvalid, "in a check-out, use fossil rm instead of --delete");
  }
  QUARRY_TRY_ASSIGN(auto files, changes_in(*checkout));
  const bool has_merge = changes::has_branch(merges);
  if (!arguments.files.empty()) {
    if (has_merge) {
      return fail(ErrorCode::kInvalid,
                  "a merge cannot be submitted in parts: submit it without naming files");
    }
    QUARRY_TRY_ASSIGN(files, chosen(files, arguments.files, folder));
  }
  if (!files.empty() || has_merge) return files;
  return fail(ErrorCode::kInvalid, "nothing has changed in this check-out");
}

Result<changes::Meta> meta_of(const SubmitArguments& arguments,
                              const std::optional<Checkout>& checkout,
                              const std::vector<ChangedFile>& files,
                              std::vector<changes::MergedCheckIn> merges) {
  changes::Meta meta;
  meta.type = *changes::move_type_named(arguments.type);
  meta.target = arguments.target;
  meta.comment = arguments.comment;
  meta.author = arguments.author;
  meta.approval = arguments.approval;
  meta.base = arguments.base;
  if (meta.base.empty() && checkout && !arguments.on_tip) meta.base = checkout->check_in;
  for (const std::string& each : arguments.dependencies) {
    const auto id = changes::ChangeSetId::parse(each);
    if (!id) {
      return fail(ErrorCode::kInvalid,
                  "--depends: \"{}\" is not a change-set id (16 hexadecimal digits)",
                  base::printable(each));
    }
    meta.dependencies.push_back(*id);
  }
  for (const ChangedFile& file : files) {
    meta.files.push_back(file.name);
    if (!file.prior.empty()) meta.renames.push_back({.from = file.prior, .to = file.name});
  }
  meta.merges = std::move(merges);
  return meta;
}

/// Checks that the server has the check-ins on which META and CHECKOUT are based.
Result<void> check_check_ins(const QueueClient& client, const changes::Meta& meta,
                             const std::optional<Checkout>& checkout) {
  const auto check = [&](std::string_view name, const char* what) -> Result<void> {
    QUARRY_TRY_ASSIGN(const bool is_known, client.has_check_in(name));
    if (is_known) return {};
    return fail(ErrorCode::kNotFound,
                "the server does not have the check-in {}, {}: send it with fossil "
                "push, and submit again",
                base::printable(name), what);
  };
  if (!meta.base.empty()) {
    QUARRY_TRY(check(meta.base, "on which the changes are based"));
  } else if (checkout) {
    QUARRY_TRY(check(checkout->check_in, "which is checked out"));
  }
  for (const changes::MergedCheckIn& each : meta.merges) {
    QUARRY_TRY(check(each.check_in.str(), "which is merged into the check-out"));
  }
  return {};
}

Result<std::string> tarball_of(const changes::Meta& meta, const std::vector<ChangedFile>& files) {
  std::vector<changes::FileToSubmit> contents;
  for (const ChangedFile& file : files) {
    if (file.is_deletion) continue;
    QUARRY_TRY_ASSIGN(const char permission, permission_of(file));
    contents.push_back({.name = file.name, .permission = permission, .read = [path = file.path] {
                          return content_of(path);
                        }});
  }
  return packed(meta, contents, kMaxTarball);
}

void print_state(std::string_view id, const nlohmann::json& change_set) {
  if (::isatty(STDERR_FILENO) == 0) return;
  const auto place = change_set.find("place");
  fmt::print(stderr, "quarry: {}: {}{}\n", id, base::printable(text_in(change_set, "state")),
             place != change_set.end() ? ", place " + place->dump() : std::string());
}

/// Returns why CHANGE_SET is deferred, or "" if it is not.
std::string deferral_of(const nlohmann::json& change_set) {
  const bool is_deferred = change_set.value("put_off", 0) > 0 &&
                           text_in(change_set, "state") == word_of(changes::Stage::kPending);
  return is_deferred ? base::printable_message(text_in(change_set, "why")) : "";
}

/// Prints the reasons why a change set waits. Asks for them less often than for its state, because
/// the server reads the whole queue to find a reason.
class WaitingReasons {
 public:
  /// CLIENT is not owned.
  WaitingReasons(const QueueClient& client, std::string_view id) : client_(client), id_(id) {}

  /// Prints the reason if it is time to ask for it, and if it has changed.
  void print() {
    if (Clock::now() < next_) return;
    pause_ = std::min(pause_ * 2, kLongestReasonPause);
    next_ = Clock::now() + pause_;
    const auto reply = client_.get(fmt::format("/{}", id_), "ask=why");
    const auto document = reply ? document_in(*reply) : std::unexpected(reply.error());
    if (!document) return;
    const std::string reason = text_in(*document, "why");
    const bool is_reason = !reason.empty() && reason != changes::kNothingBlocks &&
                           !reason.starts_with(changes::kNotWaiting);
    if (!is_reason || reason == printed_) return;
    fmt::print(stderr, "quarry: {} waits: {}\n", id_, base::printable_message(reason, 2'000));
    printed_ = reason;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const QueueClient& client_;
  std::string_view id_;
  milliseconds pause_ = kFirstReasonPause;
  Clock::time_point next_ = Clock::now() + pause_;
  std::string printed_;
};

/// Polls until the change set ID is finished, at most for MAX_WAIT (0: no limit), and returns it.
/// Prints the reason of a deferral, other reasons why it waits, and each change of its state if
/// standard error is a terminal. Errors: permanent errors from CLIENT; kBusy after the time limit or
/// a signal.
Result<nlohmann::json> wait_until_over(const QueueClient& client, std::string_view id,
                                       milliseconds max_wait) {
  const auto get = [&]() -> Result<nlohmann::json> {
    QUARRY_TRY_ASSIGN(const std::string text, client.get(fmt::format("/{}", id)));
    QUARRY_TRY_ASSIGN(auto document, document_in(text));
    if (changes::stage_named(text_in(document, "state"))) return document;
    return fail(ErrorCode::kInvalid,
                "invalid reply from the server: not the description of a change set");
  };
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto last_reply = begin;
  std::string printed_state, printed_deferral;
  WaitingReasons reasons(client, id);
  milliseconds pause = kFirstPause;
  for (;;) {
    auto change_set = get();
    if (change_set) {
      const std::string state = text_in(*change_set, "state");
      if (changes::is_over(*changes::stage_named(state))) return change_set;
      last_reply = Clock::now();
      if (printed_state != state) print_state(id, *change_set);
      printed_state = state;
      const std::string deferral = deferral_of(*change_set);
      if (!deferral.empty() && printed_deferral != deferral) {
        fmt::print(stderr, "quarry: {} is deferred: {}\n", id, deferral);
        printed_deferral = deferral;
      }
      const bool waits = state != word_of(changes::Stage::kRun);
      if (waits && deferral.empty()) reasons.print();
    } else if (!transport::may_pass(change_set.error()) || Clock::now() - last_reply > kRetryTime) {
      return change_set;
    }
    if (Interruption::signal() != 0) {
      return fail(ErrorCode::kBusy, "interrupted: the change set stays in the queue");
    }
    if (max_wait.count() > 0 && Clock::now() - begin > max_wait) {
      return fail(ErrorCode::kBusy,
                  "timeout: the change set is still in the queue; see quarry queue show");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 3 / 2, kLongestPause);
  }
}

/// Prints the outcome. Returns the exit code: 0 if the change set ID has landed.
int print_outcome(std::string_view id, const nlohmann::json& change_set) {
  const auto printable = [&](const char* name) {
    return base::printable_message(text_in(change_set, name), 2'000);
  };
  if (text_in(change_set, "state") == changes::word_of(changes::Stage::kDone)) {
    fmt::print("{} landed as {}\n", id, printable("landed"));
    return kDone;
  }
  return failed({.message = fmt::format("{} {}: {}", id, printable("state"), printable("why"))});
}

Result<int> submit(const SubmitArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto checkout, checkout_at(fs::current_path()));
  std::vector<changes::MergedCheckIn> merges;
  if (checkout) {
    QUARRY_TRY_ASSIGN(merges, merges_in(*checkout));
  }
  QUARRY_TRY_ASSIGN(const auto files, files_of(arguments, checkout, merges));
  QUARRY_TRY_ASSIGN(const auto meta, meta_of(arguments, checkout, files, std::move(merges)));
  QUARRY_TRY_ASSIGN(const std::string tarball, tarball_of(meta, files));
  QUARRY_TRY_ASSIGN(const QueueClient client, QueueClient::open(arguments.server));
  QUARRY_TRY(check_check_ins(client, meta, checkout));
  QUARRY_TRY_ASSIGN(const changes::ChangeSetId id, client.submit(meta, tarball));
  if (!arguments.waits) {
    fmt::print("{}\n", id.str());
    return kDone;
  }
  // Print the id before the wait, because users might interrupt the wait.
  fmt::print(stderr, "quarry: submitted {}\n", id.str());
  const auto max_wait = milliseconds(static_cast<std::int64_t>(arguments.timeout * 1000));
  QUARRY_TRY_ASSIGN(const auto change_set, wait_until_over(client, id.str(), max_wait));
  return print_outcome(id.str(), change_set);
}

}  // namespace

int run_submit(const SubmitArguments& arguments) {
  const Interruption interruption;
  const auto done = submit(arguments);
  return done ? *done : failed(done.error());
}

}  // namespace quarry::app
