// quarry compact: makes a repository smaller, while others use it.
#include <fmt/core.h>

#include <chrono>
#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/progress.h"
#include "quarry/repository/compaction.h"
#include "quarry/repository/repository.h"

namespace quarry::app {
namespace {

using std::chrono::steady_clock;

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

base::Result<repository::CompactedSlice> compact(repository::Compaction& compaction,
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
    fmt::print("{}: nothing has come since it was compacted\n", file);
  } else {
    fmt::print("{}: {} of {} artifacts became deltas: {} before, {} now{}\n", file, slice.rewritten,
               slice.examined, megabytes(slice.size_before), megabytes(slice.size_after),
               slice.is_done ? "" : "; not done yet");
    fmt::print("others waited for at most {:.1f} ms\n",
               static_cast<double>(slice.longest_lock.count()) / 1000);
  }
  if (free_space > 0) {
    fmt::print("{} of the file are free for what comes; --vacuum gives them back\n",
               megabytes(free_space));
  }
}

int run(repository::Repository& repository, const CompactArguments& arguments) {
  repository::Compaction compaction(repository);
  const auto slice = compact(compaction, arguments);
  if (!slice) return failed(slice.error());
  if (arguments.vacuum && Interruption::signal() == 0) {
    if (const auto done = compaction.vacuum(); !done) return failed(done.error());
  }
  const auto free_space = compaction.free_space();
  if (!arguments.quiet) print_result(arguments.file, *slice, free_space.value_or(0));
  for (const std::string& what : slice->damage) fmt::print("{}\n", what);
  if (slice->damaged == 0) return kDone;
  const bool is_one = slice->damaged == 1;
  return failed({.message = fmt::format("{}: {} damaged artifact{}, left as {}; see quarry verify",
                                        arguments.file, slice->damaged, is_one ? "" : "s",
                                        is_one ? "it is" : "they are")});
}

}  // namespace

int run_compact(const CompactArguments& arguments) {
  const Interruption interruption;
  auto repository = repository::Repository::open(
      arguments.file, {.max_artifact_size = repository::kLargestArtifact});
  if (!repository) return failed(repository.error());
  const int code = run(**repository, arguments);
  (*repository)->checkpoint();
  // Interrupted, but what was compacted so far is committed.
  if (Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  return code;
}

}  // namespace quarry::app
