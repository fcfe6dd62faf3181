#include "process_directives.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "quarry/base/log.h"
#include "quarry/master/kinds.h"

namespace quarry::master {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::string_view kEnvironment = "env[NAME]";

constexpr auto kDirectives = std::to_array<Directive<ProcessSettings>>({
    {"rlimit_files", Number<kLeastFiles>(), QUARRY_FIELD(limits.files)},
    {"rlimit_core", CoreLimit(), QUARRY_FIELD(limits.core)},
    {"process.priority", Priority(), QUARRY_FIELD(priority)},
    {"process.dumpable", Switch(), QUARRY_FIELD(dumpable)},
    {"chroot", Path(), QUARRY_FIELD(chroot)},
    {"chdir", Path(), QUARRY_FIELD(chdir)},
    {"clear_env", Switch(), QUARRY_FIELD(clear_env)},
    {"catch_workers_output", Switch(), QUARRY_FIELD(catch_output)},
    {"decorate_workers_output", Switch(), QUARRY_FIELD(decorate_output)},
});

bool is_environment_directive(std::string_view key) {
  return key.starts_with("env[") && key.ends_with(']');
}

bool may_name_variable(std::string_view name) {
  const auto fits = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, fits);
}

Result<void> set_variable(ProcessSettings& settings, std::string_view key,
                          const std::string& value) {
  const std::string_view name = key.substr(4, key.size() - 5);
  if (!may_name_variable(name)) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{}: a name is letters, digits and _, no digit first", base::printable(key)));
  }
  settings.environment.emplace_back(name, value);
  return {};
}

}  // namespace

bool is_process_directive(std::string_view key) {
  return is_environment_directive(key) ||
         find_directive<ProcessSettings>(kDirectives, key) != nullptr;
}

Result<void> set_process_directive(ProcessSettings& settings, std::string_view key,
                                   const std::string& value) {
  if (is_environment_directive(key)) return set_variable(settings, key, value);
  return set_in<ProcessSettings>(kDirectives, settings, key, value);
}

bool is_relative_for_process(std::string_view key, std::string_view value) {
  return is_relative_in<ProcessSettings>(kDirectives, key, value);
}

std::vector<ShownDirective> shown_process_directives(const ProcessSettings& settings) {
  auto shown = shown_in<ProcessSettings>(kDirectives, settings);
  for (const auto& [name, value] : settings.environment) {
    shown.push_back({fmt::format("env[{}]", name), {value}});
  }
  if (settings.environment.empty()) shown.push_back({std::string(kEnvironment), {}});
  return shown;
}

}  // namespace quarry::master
