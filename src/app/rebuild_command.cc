// quarry rebuild: computes the derived tables of a repository from nothing.
#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "progress.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

int run_rebuild(const RebuildArguments& arguments) {
  const auto rebuilt = [&] {
    Progress progress(arguments.quiet);
    return repository::rebuild(arguments.file, {}, [&](std::size_t done, std::size_t total) {
      progress.show(done, total);
      if (done == total) progress.say("computing the tables");
    });
  }();
  if (!rebuilt) return failed(rebuilt.error());
  if (!arguments.quiet) fmt::print("{}: rebuilt\n", arguments.file);
  return kDone;
}

}  // namespace quarry::app
