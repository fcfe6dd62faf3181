// quarry verify: looks for faults in a repository.
#include <fmt/core.h>

#include <memory>
#include <string>

#include "commands.h"
#include "progress.h"
#include "quarry/repository/repository.h"

namespace quarry::app {
namespace {

int run_verify(const std::string& file, bool quiet) {
  const auto findings = [&] {
    Progress progress(quiet);
    return repository::verify(
        file, [&](std::size_t done, std::size_t total) { progress.show(done, total); });
  }();
  if (!findings) return failed(findings.error());
  for (const std::string& finding : *findings) fmt::print("{}\n", finding);
  if (!findings->empty()) {
    return failed({.message = fmt::format("{}: {} faults found", file, findings->size())});
  }
  if (!quiet) fmt::print("{}: no fault found\n", file);
  return kDone;
}

struct VerifyArguments {
  std::string file;
  bool quiet = false;
};

}  // namespace

void add_verify(CLI::App& app, Run& run) {
  auto verify = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand(
      "verify", "check every hash, every delta, and the derived tables; changes nothing");
  command->add_option("FILE", verify->file, "the repository file to check")->required();
  command->add_flag("--quiet", verify->quiet, "print faults only");
  command->callback(
      [verify, &run] { run = [verify] { return run_verify(verify->file, verify->quiet); }; });
}

}  // namespace quarry::app
