#include "quarry/control/publication.h"

#include <fcntl.h>
#include <fmt/core.h>

#include "dialogue.h"
#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/socket.h"

namespace quarry::control {
namespace {

constexpr std::string_view kOk = "ok ";
constexpr std::string_view kError = "error ";

Result<std::string> ask(const std::string& socket, std::chrono::milliseconds time_out,
                        std::string_view line) {
  const auto end = std::chrono::steady_clock::now() + time_out;
  QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(socket));
  QUARRY_TRY_ASSIGN(std::string answer,
                    converse({.program = "quarry-replica", .directive = "replication.socket"},
                             address, line, end));
  answer.pop_back();
  if (answer.starts_with(kOk)) return answer.substr(kOk.size());
  if (answer.starts_with(kError)) return fail(ErrorCode::kIo, answer.substr(kError.size()));
  return fail(ErrorCode::kIo, "unknown answer from quarry-replica: {}", base::printable(answer));
}

/// Sends LINE without waiting for anything.
void send(const std::string& socket, std::string_view line) {
  const auto address = base::SocketAddress::parse(socket);
  if (!address) return;
  const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::connect(fd.get(), address->get(), address->size()) != 0) return;
  const std::string sent = fmt::format("{}\n", line);
  (void)!::send(fd.get(), sent.data(), sent.size(), MSG_NOSIGNAL);
}

}  // namespace

Result<void> Publication::publish(std::string_view pool, std::string_view name) const {
  QUARRY_TRY(ask(socket_, time_out_, fmt::format("publish {} {}", pool, name)));
  return {};
}

void Publication::notify(std::string_view pool, std::string_view name) const {
  send(socket_, fmt::format("notify {} {}", pool, name));
}

Result<std::string> Publication::status() const {
  return ask(socket_, time_out_, "status");
}

Result<std::string> Publication::status(std::string_view pool, std::string_view name) const {
  return ask(socket_, time_out_, fmt::format("status {} {}", pool, name));
}

}  // namespace quarry::control
