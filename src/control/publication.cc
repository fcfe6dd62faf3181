#include "quarry/control/publication.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>

#include "dialogue.h"
#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/number.h"
#include "quarry/base/socket.h"

namespace quarry::control {
namespace {

constexpr std::string_view kOk = "ok ";
constexpr std::string_view kError = "error ";
constexpr std::string_view kHeld = "held";

/// If KEPT is not null, it becomes the connection.
Result<std::string> ask(const std::string& socket, std::chrono::milliseconds time_out,
                        std::string_view line, base::Fd* kept = nullptr) {
  const auto end = std::chrono::steady_clock::now() + time_out;
  QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(socket));
  QUARRY_TRY_ASSIGN(std::string answer,
                    converse({.program = "quarry-replica", .directive = "replication.socket"},
                             address, line, end, kept));
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

Result<PublishedPosition> Publication::publish(std::string_view pool, std::string_view name) const {
  QUARRY_TRY_ASSIGN(const std::string answer,
                    ask(socket_, time_out_, fmt::format("publish {} {}", pool, name)));
  std::string_view words = answer;
  PublishedPosition position;
  position.created = base::take_number<std::int64_t>(words).value_or(0);
  position.sequence = base::take_number<std::uint64_t>(words).value_or(0);
  return position;
}

Result<void> Publication::wait(std::string_view pool, std::string_view name,
                               std::uint64_t sequence) const {
  QUARRY_TRY(ask(socket_, time_out_, fmt::format("wait {} {} {}", pool, name, sequence)));
  return {};
}

Result<bool> Publication::land(std::string_view pool, std::string_view name, std::int64_t created,
                               std::uint64_t sequence,
                               const std::vector<std::string>& entries) const {
  std::string content;
  for (const std::string& each : entries) content += fmt::format("{}\n{}", each.size(), each);
  QUARRY_TRY_ASSIGN(const std::string answer,
                    ask(socket_, time_out_,
                        fmt::format("land {} {} {} {} {}\n{}", pool, name, created, sequence,
                                    content.size(), content)));
  return answer == "true";
}

Result<void> Publication::catch_up(std::string_view pool, std::string_view name) const {
  QUARRY_TRY(ask(socket_, time_out_, fmt::format("catch-up {} {}", pool, name)));
  return {};
}

void Publication::notify(std::string_view pool, std::string_view name) const {
  send(socket_, fmt::format("notify {} {}", pool, name));
}

Result<std::string> Publication::status() const {
  return ask(socket_, time_out_, "status");
}

Result<void> Publication::join(std::string_view host, std::string_view what) const {
  const std::string_view space = what.empty() ? "" : " ";
  QUARRY_TRY(ask(socket_, time_out_, fmt::format("join {}{}{}", host, space, what)));
  return {};
}

Result<std::string> Publication::joined() const {
  return ask(socket_, time_out_, "joined");
}

Result<void> Publication::leave() const {
  QUARRY_TRY(ask(socket_, time_out_, "leave"));
  return {};
}

Result<std::string> Publication::status(std::string_view pool, std::string_view name) const {
  return ask(socket_, time_out_, fmt::format("status {} {}", pool, name));
}

Result<std::string> Publication::claim(std::string_view pool, std::string_view name,
                                       std::string_view key, std::string_view value,
                                       ClaimWhen when) const {
  return ask(socket_, time_out_,
             fmt::format("{} {} {} {} {}", when == ClaimWhen::kCurrent ? "claim-current" : "claim",
                         key, value, pool, name));
}

void Publication::release(std::string_view pool, std::string_view name, std::string_view key,
                          std::string_view start) const {
  send(socket_, fmt::format("release {} {} {} {}", key, start, pool, name));
}

Result<std::optional<Lease>> Publication::lease(std::string_view pool, std::string_view name,
                                                std::string_view key) const {
  base::Fd connection;
  QUARRY_TRY_ASSIGN(
      const std::string answer,
      ask(socket_, time_out_, fmt::format("lease {} {} {}", key, pool, name), &connection));
  if (answer != kHeld) return std::nullopt;
  return Lease(std::move(connection));
}

bool Lease::is_held() const {
  // quarry-replica sends nothing before it loses the lease.
  pollfd polled{.fd = connection_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) == 0;
}

}  // namespace quarry::control
