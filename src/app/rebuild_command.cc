// quarry rebuild: computes the derived tables of a repository from nothing.
#include <fmt/core.h>

#include <memory>
#include <string>

#include "commands.h"
#include "progress.h"
#include "quarry/repository/repository.h"

namespace quarry::app {
namespace {

struct RebuildArguments {
  std::string file;
  bool quiet = false;
};

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

}  // namespace

void add_rebuild(CLI::App& app, Run& run) {
  auto rebuild = std::make_shared<RebuildArguments>();
  CLI::App* command = app.add_subcommand(
      "rebuild", "compute every derived table from the artifacts; all or nothing");
  command->add_option("FILE", rebuild->file, "the repository file to rebuild")->required();
  command->add_flag("--quiet", rebuild->quiet, "print errors only");
  command->callback([rebuild, &run] { run = [rebuild] { return run_rebuild(*rebuild); }; });
}

}  // namespace quarry::app
