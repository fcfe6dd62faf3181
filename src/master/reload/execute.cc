#include "execute.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "child/spawn.h"
#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"
#include "quarry/base/spawn.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::master {

base::Error execute_again(const std::filesystem::path& program, std::vector<std::string> arguments,
                          const Handover& handover) {
  const auto written = write_handover(handover);
  if (!written) return written.error();
  base::log(base::LogLevel::kNotice, "reloading: generation {} becomes {}", handover.generation - 1,
            handover.generation);
  base::notify_service_manager(fmt::format("RELOADING=1\nSTATUS=reloading\nMONOTONIC_USEC={}",
                                           scoreboard::monotonic_micros()));
  ::setenv(kHandoverVariable, std::to_string(written->get()).c_str(), 1);
  ::execv(program.c_str(), base::pointers_to(arguments).data());
  auto failed = base::fail_errno(fmt::format("cannot execute {}", program.string())).error();
  ::unsetenv(kHandoverVariable);
  return failed;
}

}  // namespace quarry::master
