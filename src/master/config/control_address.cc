#include "quarry/master/control_address.h"

#include "config_files.h"
#include "quarry/base/escape.h"
#include "quarry/master/kinds.h"

namespace quarry::master {
namespace {

using base::SocketAddress;

}  // namespace

Result<std::optional<SocketAddress>> parse_control_socket(const std::string& value) {
  if (value == "off") return std::nullopt;
  QUARRY_TRY_ASSIGN(const std::string path, parse_path(value));
  QUARRY_TRY_ASSIGN(auto address, SocketAddress::parse(path));
  return address;
}

Result<std::optional<SocketAddress>> control_socket_beside(const std::string& pid_file) {
  const std::filesystem::path path = std::filesystem::path(pid_file).replace_extension(".control");
  QUARRY_TRY_ASSIGN(auto address, SocketAddress::parse(path.string()));
  return address;
}

Result<SocketAddress> control_socket_in(const std::filesystem::path& path) {
  const ConfigFiles files = read_config_files(path);
  std::string pid_file;
  std::string socket;
  for (const base::IniMistake& mistake : files.merged.mistakes) {
    if (mistake.line < 0) return fail(ErrorCode::kIo, mistake.message);
  }
  for (const base::IniSection& section : files.merged.sections) {
    if (section.name != "global") continue;
    for (const base::IniEntry& entry : section.entries) {
      if (entry.key == "control.socket") socket = entry.value;
      if (entry.key == "pid") pid_file = entry.value;
    }
  }
  if (socket.empty() && pid_file.empty()) {
    return fail(
        ErrorCode::kNotFound,
        "{} sets neither control.socket nor pid, so its quarryd does not have a control socket",
        path.string());
  }
  const std::string& named = socket.empty() ? pid_file : socket;
  if (!named.starts_with('/') && named != "off") {
    return fail(
        ErrorCode::kInvalid,
        "{}: {} is relative to the --prefix of its quarryd: name the control socket explicitly",
        path.string(), base::printable(named));
  }
  QUARRY_TRY_ASSIGN(const auto address, socket.empty() ? control_socket_beside(pid_file)
                                                       : parse_control_socket(socket));
  if (address) return *address;
  return fail(ErrorCode::kNotFound, "{} sets control.socket = off", path.string());
}

}  // namespace quarry::master
