// quarry verify: checks a repository for faults.
#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/progress.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"

namespace quarry::app {

int run_verify(const VerifyArguments& arguments) {
  const auto verified = [&] {
    Progress progress(arguments.quiet);
    return repository::verify(
        arguments.file, [&](std::size_t done, std::size_t total) { progress.show(done, total); });
  }();
  if (!verified) return failed(verified.error());
  for (const std::string& fault : verified->faults) fmt::print("{}\n", fault);
  if (!arguments.quiet) {
    for (const auto& [where, rows] : verified->order_dependent) {
      fmt::print("{}: {} row{} by processing order ({})\n", where.first, rows,
                 rows == 1 ? " differs" : "s differ", where.second);
    }
  }
  if (const std::size_t count = verified->faults.size(); count > 0) {
    return failed({.message = fmt::format("{}: {} fault{} found", arguments.file, count,
                                          count == 1 ? "" : "s")});
  }
  if (!arguments.quiet) fmt::print("{}: no fault found\n", arguments.file);
  return kDone;
}

}  // namespace quarry::app
