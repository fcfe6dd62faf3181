// quarry lease: shows which process does a repository's background work.
#include <fmt/core.h>

#include <algorithm>

#include "commands.h"
#include "common/json.h"
#include "common/owner.h"
#include "quarry/backoffice/holders.h"
#include "quarry/backoffice/lease.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::app {
namespace {

// End of the year 9999. Later times cannot be formatted as dates.
constexpr std::int64_t kLastTime = 253'402'300'799;

void print_holder(const char* name, std::int64_t pid, std::int64_t until, std::int64_t now) {
  if (pid == 0) return fmt::print("{:9}none\n", name);
  const std::int64_t left = until - now;
  const bool is_here = backoffice::real_processes().started(pid).has_value();
  fmt::print("{:9}process {}, {}; until {} ({} s {})\n", name, pid,
             is_here ? "running on this machine" : "not running on this machine",
             base::iso_seconds({std::min(until, kLastTime) * 1000}), left < 0 ? -left : left,
             left < 0 ? "ago" : "from now");
}

/// Returns the process and the end of its lease as JSON, or null for no process.
nlohmann::json json_of_holder(std::int64_t pid, std::int64_t until) {
  if (pid == 0) return {};
  return {{"process", pid},
          {"is_running", backoffice::real_processes().started(pid).has_value()},
          {"until", base::iso_seconds({std::min(until, kLastTime) * 1000}) + "Z"}};
}

}  // namespace

Result<void> run_lease(const LeaseArguments& arguments) {
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY_ASSIGN(const auto repository,
                    repository::Repository::open(arguments.file, {.is_read_only = true}));
  QUARRY_TRY_ASSIGN(const auto snapshot, repository->snapshot());
  const auto row = repository->settings().get("backoffice");
  const auto lease = backoffice::Lease::parse(row.value_or(""));
  if (arguments.as_json) {
    print_json({{"current", json_of_holder(lease.current, lease.current_until)},
                {"next", json_of_holder(lease.next, lease.next_until)}});
    return {};
  }
  const std::int64_t now = base::system_clock().now().value / 1000;
  fmt::print("lease:   {}\n", row ? lease.text() : "none");
  print_holder("current:", lease.current, lease.current_until, now);
  print_holder("next:", lease.next, lease.next_until, now);
  return {};
}

}  // namespace quarry::app
