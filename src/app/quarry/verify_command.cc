// quarry verify: looks for faults in a repository.
#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/progress.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"

namespace quarry::app {

int run_verify(const VerifyArguments& arguments) {
  const auto findings = [&] {
    Progress progress(arguments.quiet);
    return repository::verify(
        arguments.file, [&](std::size_t done, std::size_t total) { progress.show(done, total); });
  }();
  if (!findings) return failed(findings.error());
  for (const std::string& finding : *findings) fmt::print("{}\n", finding);
  if (!findings->empty()) {
    return failed(
        {.message = fmt::format("{}: {} faults found", arguments.file, findings->size())});
  }
  if (!arguments.quiet) fmt::print("{}: no fault found\n", arguments.file);
  return kDone;
}

}  // namespace quarry::app
