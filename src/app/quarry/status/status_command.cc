// quarry status: shows the status of a running server.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "common/exit_codes.h"
#include "quarry/base/escape.h"
#include "quarry/master/control_address.h"
#include "server_control.h"
#include "status_commands.h"
#include "status_view.h"

namespace quarry::app {
namespace {

Result<base::SocketAddress> address_of(const ServerControl& server) {
  if (server.socket.empty()) return master::control_socket_in(server.config);
  // A name without a folder is a file in the current folder, not a port.
  const bool has_folder = server.socket.find('/') != std::string::npos;
  return base::SocketAddress::parse(has_folder ? server.socket : "./" + server.socket);
}

void print(const Lines& lines) {
  for (const std::string& line : lines) fmt::print("{}\n", line);
}

/// Checks that all requested pools exist.
Result<void> check_names(const StatusArguments& arguments, StatusObject server) {
  std::vector<std::string> known;
  for (const StatusObject pool : server.list("pools")) known.push_back(pool.text("pool"));
  for (const std::string& name : arguments.pools) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return fail(ErrorCode::kNotFound, "unknown pool \"{}\"; the pools are {}",
                base::printable(name), base::printable(fmt::format("{}", fmt::join(known, ", "))));
  }
  return {};
}

template <typename PoolOf>
StatusDocument wanted(const StatusArguments& arguments, const StatusDocument& list,
                      PoolOf pool_of) {
  StatusDocument found = StatusDocument::array();
  for (const StatusDocument& each : list) {
    if (arguments.wants(pool_of(each))) found.push_back(each);
  }
  return found;
}

}  // namespace

Result<std::string> ServerControl::ask(control::Question question) const {
  QUARRY_TRY_ASSIGN(const auto address, address_of(*this));
  return control::ask(address, question);
}

int run_status(const StatusArguments& arguments) {
  const auto answer = arguments.server.ask(arguments.is_full ? control::Question::kFullStatus
                                                             : control::Question::kStatus);
  if (!answer) return failed(answer.error());
  auto document = parse_status(*answer);
  if (!document) return failed(document.error());
  const StatusObject server = *document;
  if (const auto known = check_names(arguments, server); !known) return failed(known.error());
  (*document)["pools"] =
      wanted(arguments, server.list("pools"), [](StatusObject pool) { return pool.text("pool"); });
  if (arguments.as_json) {
    fmt::print("{}\n", document->dump(2, ' ', true, StatusDocument::error_handler_t::replace));
    return kDone;
  }
  (*document)["services"] = wanted(arguments, server.list("services"), pool_of_service);
  const std::int64_t now = std::time(nullptr);
  print(server_lines(server, now));
  for (const Lines& lines :
       {pool_lines(server, now), job_lines(server), pages_lines(server), log_lines(server)}) {
    if (!lines.empty()) fmt::print("\n");
    print(lines);
  }
  if (!arguments.is_full) return kDone;
  for (const StatusObject pool : server.list("pools")) {
    fmt::print("\n[{}]\n", base::printable(pool.text("pool")));
    print(child_lines(pool));
  }
  return kDone;
}

}  // namespace quarry::app
