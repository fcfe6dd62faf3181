#include "quarry/master/pid_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <fstream>

#include "quarry/base/fd.h"

namespace quarry::master {
namespace {

/// The process in the pid file PATH, if it is another one of this program; 0 if not.
pid_t living_process_in(const std::string& path) {
  std::ifstream file(path);
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 0 || pid == ::getpid()) return 0;
  const auto name_of = [](const std::string& process) {
    std::string name;
    std::ifstream comm("/proc/" + process + "/comm");
    std::getline(comm, name);
    return name;
  };
  const std::string name = name_of(std::to_string(pid));
  return !name.empty() && name == name_of("self") ? pid : 0;
}

}  // namespace

base::Result<void> check_pid_file(const std::string& path) {
  const pid_t other = living_process_in(path);
  if (other == 0) return {};
  return base::fail(
      base::ErrorCode::kBusy,
      fmt::format("the pid file {} is that of process {}, a quarryd that runs", path, other));
}

base::Result<void> write_pid_file(const std::string& path) {
  QUARRY_TRY(check_pid_file(path));
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const std::string text = fmt::format("{}\n", ::getpid());
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return base::fail_errno(fmt::format("cannot write the pid file {}", path));
  }
  return {};
}

}  // namespace quarry::master
