// quarry status: how a running server is.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/exit_codes.h"
#include "quarry/base/escape.h"
#include "server_place.h"
#include "status_commands.h"
#include "status_view.h"

namespace quarry::app {
namespace {

// The master's order is one for readers.
using nlohmann::ordered_json;

void print(const Lines& lines) {
  for (const std::string& line : lines) fmt::print("{}\n", line);
}

/// Whether all pools that are asked for are among SERVER's.
base::Result<void> check_names(const StatusArguments& arguments, const ServerStatus& server) {
  std::string known;
  for (const PoolStatus& pool : server.pools) known += (known.empty() ? "" : ", ") + pool.name;
  for (const std::string& name : arguments.pools) {
    if (std::ranges::find(server.pools, name, &PoolStatus::name) != server.pools.end()) continue;
    return base::fail(base::ErrorCode::kNotFound,
                      fmt::format("there is no pool \"{}\"; there are: {}", base::printable(name),
                                  base::printable(known)));
  }
  return {};
}

void print_json(const StatusArguments& arguments, const std::string& document) {
  ordered_json root = ordered_json::parse(document);
  ordered_json wanted = ordered_json::array();
  for (ordered_json& pool : root["pools"]) {
    if (arguments.wants(pool["pool"])) wanted.push_back(std::move(pool));
  }
  root["pools"] = std::move(wanted);
  fmt::print("{}\n", root.dump(2, ' ', true, ordered_json::error_handler_t::replace));
}

}  // namespace

int run_status(const StatusArguments& arguments) {
  const auto document = arguments.server.ask(arguments.is_full ? control::Question::kFullStatus
                                                               : control::Question::kStatus);
  if (!document) return failed(document.error());
  auto server = read_status(*document);
  if (!server) return failed(server.error());
  if (const auto known = check_names(arguments, *server); !known) return failed(known.error());
  if (arguments.as_json) {
    print_json(arguments, *document);
    return kDone;
  }
  std::erase_if(server->pools, [&](const PoolStatus& pool) { return !arguments.wants(pool.name); });
  std::erase_if(server->jobs, [&](const JobStatus& one) { return !arguments.wants(one.pool()); });
  std::erase_if(server->pages,
                [&](const PagesStatus& one) { return !arguments.wants(one.pool()); });
  const std::int64_t now = std::time(nullptr);
  print(server_lines(*server, now));
  fmt::print("\n");
  print(pool_lines(*server, now));
  if (!server->jobs.empty()) fmt::print("\n");
  print(job_lines(*server));
  if (!server->pages.empty()) fmt::print("\n");
  print(pages_lines(*server));
  if (!arguments.is_full) return kDone;
  for (const PoolStatus& pool : server->pools) {
    fmt::print("\n[{}]\n", base::printable(pool.name));
    print(child_lines(pool));
  }
  return kDone;
}

}  // namespace quarry::app
