#include "environment.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>

#include "quarry/base/spawn.h"

namespace quarry::master {
namespace {

/// Returns whether the service manager has set the variable NAME for the master only. Messages from
/// other processes cause warnings in the service manager's log.
bool is_for_master(std::string_view name) {
  return name == "NOTIFY_SOCKET" || name == "WATCHDOG_PID" || name == "WATCHDOG_USEC";
}

bool has(const Environment& environment, const std::string& name) {
  return std::ranges::any_of(environment, [&](const auto& entry) { return entry.first == name; });
}

std::string value_of(const std::string& name, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return {};
}

/// Returns the memory in which exec(2) has stored this process's environment. Returns an empty span
/// if the location is unknown.
std::span<char> original_memory() {
  std::ifstream file("/proc/self/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  // Search for the last parenthesis, because the program's name, which is in parentheses, can
  // contain any characters. The field after the name is number 3 in proc(5).
  const std::size_t bracket = stat.rfind(')');
  if (bracket == std::string::npos) return {};
  std::istringstream fields(stat.substr(bracket + 1));
  constexpr int kEnvStart = 50;
  std::string skipped;
  for (int field = 3; field < kEnvStart; ++field) fields >> skipped;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  if (!(fields >> begin >> end) || begin == 0 || end <= begin) return {};
  return {reinterpret_cast<char*>(begin), end - begin};
}

void show(const Environment& environment, std::span<char> memory) {
  std::ranges::fill(memory, '\0');
  for (const auto& [name, value] : environment) {
    const std::string entry = name + "=" + value;
    if (entry.size() + 1 > memory.size()) continue;
    std::ranges::copy(entry, memory.begin());
    memory = memory.subspan(entry.size() + 1);
  }
}

}  // namespace

Environment environment_of(const ProcessSettings& settings,
                           const std::optional<Credentials>& run_as,
                           const std::vector<std::string>& inherited) {
  Environment environment = settings.environment;
  for (auto& [name, value] : environment) {
    if (value.starts_with('$')) value = value_of(value.substr(1), inherited);
  }
  if (run_as && !has(environment, "USER")) environment.emplace_back("USER", run_as->user);
  if (run_as && !run_as->home.empty() && !has(environment, "HOME")) {
    environment.emplace_back("HOME", run_as->home);
  }
  if (settings.clear_env) return environment;
  for (const std::string& entry : inherited) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = entry.substr(0, equals);
    if (is_for_master(name) || has(environment, name)) continue;
    environment.emplace_back(name, entry.substr(equals + 1));
  }
  return environment;
}

void set_environment(const ProcessSettings& settings, const std::optional<Credentials>& run_as) {
  const Environment environment = environment_of(settings, run_as, base::own_environment());
  ::clearenv();
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  show(environment, original_memory());
}

}  // namespace quarry::master
