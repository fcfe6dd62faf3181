#include "quarry/master/handover.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace quarry::master {
namespace {

using base::ErrorCode;
using nlohmann::json;

constexpr int kVersion = 1;
constexpr off_t kMostBytes = off_t{16} << 20;

base::Result<void> keep_open(int fd) {
  if (::fcntl(fd, F_SETFD, 0) == 0) return {};
  return base::fail_errno("cannot keep a descriptor over the reload");
}

base::Result<int> let_through(const base::Fd& fd) {
  if (!fd) return -1;
  QUARRY_TRY(keep_open(fd.get()));
  return fd.get();
}

/// The descriptor NUMBER, close-on-exec again; none for -1.
base::Result<base::Fd> take_descriptor(int number) {
  if (number < 0) return base::Fd();
  if (number <= STDERR_FILENO || ::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
    return base::fail(ErrorCode::kInvalid, fmt::format("descriptor {} was not inherited", number));
  }
  return base::Fd(number);
}

base::Result<std::string> read_all(const base::Fd& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return base::fail_errno("cannot look at the handover");
  if (status.st_size > kMostBytes) return base::fail(ErrorCode::kLimit, "too long a handover");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(fd.get(), text.data(), text.size(), 0) != status.st_size) {
    return base::fail_errno("cannot read the handover");
  }
  return text;
}

base::Result<Handover> parse(const std::string& text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("version", 0) != kVersion) {
    return base::fail(ErrorCode::kInvalid, "the handover is not of this version");
  }
  Handover handover;
  handover.generation = document.value("generation", std::uint64_t{1});
  handover.notes = document.value("notes", std::map<std::string, std::string>());
  for (const json& one : document.value("sockets", json::array())) {
    QUARRY_TRY_ASSIGN(base::Fd fd, take_descriptor(one.value("fd", -1)));
    handover.sockets.push_back(
        {one.value("address", ""), std::move(fd), one.value("is_ours", true)});
  }
  for (const json& one : document.value("elders", json::array())) {
    QUARRY_TRY_ASSIGN(base::Fd control, take_descriptor(one.value("control", -1)));
    handover.elders.push_back({.pid = one.value("pid", -1),
                               .service = one.value("service", ""),
                               .generation = one.value("generation", std::uint64_t{0}),
                               .asked_at = one.value("asked_at", std::int64_t{0}),
                               .control = std::move(control)});
  }
  return handover;
}

}  // namespace

base::Result<base::Fd> write_handover(const Handover& handover) {
  json document = {{"version", kVersion},
                   {"generation", handover.generation},
                   {"notes", handover.notes},
                   {"sockets", json::array()},
                   {"elders", json::array()}};
  for (const InheritedSocket& socket : handover.sockets) {
    QUARRY_TRY_ASSIGN(const int fd, let_through(socket.fd));
    document["sockets"].push_back(
        {{"address", socket.address}, {"fd", fd}, {"is_ours", socket.is_ours}});
  }
  for (const Elder& elder : handover.elders) {
    QUARRY_TRY_ASSIGN(const int control, let_through(elder.control));
    document["elders"].push_back({{"pid", elder.pid},
                                  {"service", elder.service},
                                  {"generation", elder.generation},
                                  {"asked_at", elder.asked_at},
                                  {"control", control}});
  }
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  base::Fd fd(::memfd_create("quarry-handover", 0));
  if (!fd) return base::fail_errno("cannot make memory for the handover");
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return base::fail_errno("cannot write the handover");
  }
  return fd;
}

base::Result<std::optional<Handover>> take_handover() {
  const char* variable = std::getenv(kHandoverVariable);
  if (variable == nullptr) return std::nullopt;
  const std::string number = variable;
  ::unsetenv(kHandoverVariable);
  int value = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) {
    return base::fail(ErrorCode::kInvalid, fmt::format("{} is no number", kHandoverVariable));
  }
  QUARRY_TRY_ASSIGN(const base::Fd fd, take_descriptor(value));
  QUARRY_TRY_ASSIGN(const std::string text, read_all(fd));
  QUARRY_TRY_ASSIGN(Handover handover, parse(text));
  return handover;
}

}  // namespace quarry::master
