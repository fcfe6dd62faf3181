// quarry rebuild: recomputes a repository's derived tables.
#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/progress.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"

namespace quarry::app {

int run_rebuild(const RebuildArguments& arguments) {
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
  // The transaction was rolled back: the file is unchanged, without a journal beside it.
  if (!rebuilt && Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  if (!rebuilt) return failed(rebuilt.error());
  for (const std::string& what : rebuilt->unreadable) fmt::print("{}\n", what);
  if (const std::size_t count = rebuilt->unreadable.size(); count > 0) {
    return failed(
        {.message = fmt::format("{}: rebuilt, but without {} artifact{} that cannot be read",
                                arguments.file, count, count == 1 ? "" : "s")});
  }
  if (!arguments.quiet) fmt::print("{}: rebuilt\n", arguments.file);
  return kDone;
}

}  // namespace quarry::app
