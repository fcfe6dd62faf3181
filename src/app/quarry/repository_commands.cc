// The commands for a whole local repository: init, verify, rebuild, and compact. `compact` makes
// the repository smaller. Other processes can use the repository at the same time.
#include <fmt/core.h>

#include <chrono>
#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/json.h"
#include "common/owner.h"
#include "common/progress.h"
#include "quarry/repository/compaction.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"
#include "remote/password.h"

namespace quarry::app {
namespace {

using std::chrono::steady_clock;

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

Result<repository::CompactedSlice> compact(repository::Compaction& compaction,
                                           const CompactArguments& arguments) {
  Progress progress(arguments.quiet);
  const auto begin = steady_clock::now();
  const auto is_over = [&] {
    const std::chrono::duration<double> took = steady_clock::now() - begin;
    return Interruption::signal() != 0 ||
           (arguments.budget > 0 && took.count() >= arguments.budget);
  };
  return compaction.run(
      {.is_over = is_over,
       .progress = [&](std::size_t done, std::size_t total) { progress.show(done, total); },
       .is_whole = true});
}

void print_result(const std::string& file, const repository::CompactedSlice& slice,
                  std::int64_t free_space) {
  if (slice.examined == 0) {
    fmt::print("{}: nothing has changed since the last compaction\n", file);
  } else {
    fmt::print("{}: {} of {} artifacts became deltas: {} before, {} now{}\n", file, slice.rewritten,
               slice.examined, megabytes(slice.size_before), megabytes(slice.size_after),
               slice.is_done ? "" : "; not done yet");
    fmt::print("longest time the file was locked: {:.1f} ms\n",
               static_cast<double>(slice.longest_lock.count()) / 1000);
  }
  if (free_space > 0) {
    fmt::print("{} of the file is unused; --vacuum returns this space to the file system\n",
               megabytes(free_space));
  }
}

Result<void> compact_and_report(repository::Repository& repository,
                                const CompactArguments& arguments) {
  repository::Compaction compaction(repository);
  QUARRY_TRY_ASSIGN(const auto slice, compact(compaction, arguments));
  if (arguments.vacuum && Interruption::signal() == 0) QUARRY_TRY(compaction.vacuum());
  const auto free_space = compaction.free_space();
  if (!arguments.quiet) print_result(arguments.file, slice, free_space.value_or(0));
  for (const std::string& what : slice.damage) fmt::print("{}\n", what);
  if (slice.damaged == 0) return {};
  return fail(ErrorCode::kCorrupt, "{}: {} damaged artifact{}, left unchanged; see quarry verify",
              arguments.file, slice.damaged, slice.damaged == 1 ? "" : "s");
}

void print_result(const WholeFileArguments& arguments, const repository::Verified& verified) {
  for (const std::string& fault : verified.faults) fmt::print("{}\n", fault);
  if (arguments.quiet) return;
  for (const auto& [where, rows] : verified.order_dependent) {
    fmt::print("{}: {} row{} on the processing order ({})\n", where.first, rows,
               rows == 1 ? " depends" : "s depend", where.second);
  }
  if (verified.faults.empty()) fmt::print("{}: no faults found\n", arguments.file);
}

nlohmann::json json_of(const std::string& file, const repository::Verified& verified) {
  nlohmann::json order_dependent = nlohmann::json::array();
  for (const auto& [where, rows] : verified.order_dependent) {
    order_dependent.push_back({{"table", where.first}, {"class", where.second}, {"rows", rows}});
  }
  return {{"file", file}, {"faults", verified.faults}, {"order_dependent", order_dependent}};
}

}  // namespace

Result<void> run_init(const InitArguments& asked) {
  InitArguments arguments = asked;
  const bool is_random = arguments.password.empty();
  if (is_random) arguments.password = random_password();
  if (arguments.password.empty()) {
    return fail(ErrorCode::kIo, "cannot generate a random password");
  }
  if (arguments.user.empty()) arguments.user = login_of_caller();
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY(repository::init(arguments.file, {.project_name = arguments.project_name,
                                               .user = arguments.user,
                                               .password = arguments.password}));
  QUARRY_TRY_ASSIGN(const auto opened, repository::Repository::open(arguments.file));
  if (arguments.as_json) {
    nlohmann::json made{{"project_code", opened->settings().project_code()},
                        {"server_code", opened->settings().server_code()},
                        {"user", arguments.user}};
    if (is_random) made["password"] = arguments.password;
    print_json(made);
    return {};
  }
  fmt::print("project-id: {}\nserver-id:  {}\n", opened->settings().project_code(),
             opened->settings().server_code());
  if (is_random) {
    fmt::print("admin-user: {} (password is \"{}\")\n", arguments.user, arguments.password);
  } else {
    fmt::print("admin-user: {}\n", arguments.user);
  }
  return {};
}

int run_verify(const WholeFileArguments& arguments) {
  if (const auto owned = act_as_owner_of(arguments.file); !owned) return failed(owned.error());
  const Interruption interruption;
  const auto verified = [&] {
    Progress progress(arguments.quiet);
    const auto show = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
    return repository::verify(arguments.file, show, {}, [] { return Interruption::signal() != 0; });
  }();
  // Exit after verify() has removed the temporary copy.
  if (!verified && Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  if (!verified) return failed(verified.error());
  const std::size_t count = verified->faults.size();
  if (arguments.as_json) {
    print_json(json_of(arguments.file, *verified));
  } else {
    print_result(arguments, *verified);
  }
  if (count == 0) return exit_code_of(Result<void>());
  return failed({.message = fmt::format("{}: {} fault{} found", arguments.file, count,
                                        count == 1 ? "" : "s")});
}

int run_rebuild(const WholeFileArguments& arguments) {
  if (const auto owned = act_as_owner_of(arguments.file); !owned) return failed(owned.error());
  const Interruption interruption;
  const auto rebuilt = [&] {
    Progress progress(arguments.quiet);
    const auto show = [&](std::size_t done, std::size_t total) {
      progress.show(done, total);
      if (done == total) progress.say("computing the tables");
    };
    return repository::rebuild(arguments.file, {}, show,
                               [] { return Interruption::signal() != 0; });
  }();
  // Exit only now, after the transaction was rolled back. The file is unchanged, and no journal is
  // left.
  if (!rebuilt && Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  if (!rebuilt) return failed(rebuilt.error());
  for (const std::string& what : rebuilt->unreadable) fmt::print("{}\n", what);
  if (const std::size_t count = rebuilt->unreadable.size(); count > 0) {
    return failed({.message = fmt::format("{}: rebuilt without {} unreadable artifact{}",
                                          arguments.file, count, count == 1 ? "" : "s")});
  }
  if (!arguments.quiet) fmt::print("{}: rebuilt\n", arguments.file);
  return kDone;
}

int run_compact(const CompactArguments& arguments) {
  if (const auto owned = act_as_owner_of(arguments.file); !owned) return failed(owned.error());
  const Interruption interruption;
  auto repository = repository::Repository::open(
      arguments.file, {.max_artifact_size = repository::kLargestArtifact});
  if (!repository) return failed(repository.error());
  const int code = exit_code_of(compact_and_report(**repository, arguments));
  (*repository)->checkpoint();
  // After a signal, nothing has to be undone, because repacked artifacts are already committed.
  if (Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  return code;
}

}  // namespace quarry::app
