#include "process_directives.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "directive_table.h"
#include "quarry/base/log.h"
#include "values.h"

namespace quarry::master {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Value = const std::string&;

constexpr std::string_view kEnvironment = "env[NAME]";
constexpr std::uint64_t kMaxLimit = std::numeric_limits<std::int32_t>::max();

constexpr auto kDirectives = std::to_array<Directive<ProcessSettings>>({
    {"rlimit_files",
     [](auto& s, Value v) { return put(s.limits.files, parse_number(v, 0, kMaxLimit)); }},
    {"rlimit_core", [](auto& s, Value v) { return put(s.limits.core, parse_core_limit(v)); }},
    {"process.priority", [](auto& s, Value v) { return put(s.priority, parse_priority(v)); }},
    {"process.dumpable", [](auto& s, Value v) { return put(s.dumpable, parse_bool(v)); }},
    {"chroot", [](auto& s, Value v) { return put(s.chroot, parse_path(v)); }},
    {"chdir", [](auto& s, Value v) { return put(s.chdir, parse_path(v)); }},
    {"clear_env", [](auto& s, Value v) { return put(s.clear_env, parse_bool(v)); }},
    {"catch_workers_output", [](auto& s, Value v) { return put(s.catch_output, parse_bool(v)); }},
    {"decorate_workers_output",
     [](auto& s, Value v) { return put(s.decorate_output, parse_bool(v)); }},
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

Result<void> set_variable(ProcessSettings& settings, std::string_view key, Value value) {
  const std::string_view name = key.substr(4, key.size() - 5);
  if (!may_name_variable(name)) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{}: a name is letters, digits and _, no digit first", base::printable(key)));
  }
  if (!value.starts_with('$')) {
    settings.environment.emplace_back(name, value);
    return {};
  }
  const char* of_master = std::getenv(value.c_str() + 1);
  settings.environment.emplace_back(name, of_master != nullptr ? of_master : "");
  return {};
}

}  // namespace

Result<int> parse_priority(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const auto number = parse_number(text.substr(is_negative ? 1 : 0), 0, is_negative ? 19 : 20);
  if (!number) {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is no whole number from -19 to 20", base::printable(text)));
  }
  const int priority = static_cast<int>(*number);
  return is_negative ? -priority : priority;
}

Result<std::uint64_t> parse_core_limit(std::string_view text) {
  if (text == "unlimited") return std::uint64_t{RLIM_INFINITY};
  const auto number = parse_number(text, 0, kMaxLimit);
  if (number) return *number;
  return fail(ErrorCode::kInvalid,
              fmt::format("{}, and not \"unlimited\"", number.error().message));
}

bool is_process_directive(std::string_view key) {
  return is_environment_directive(key) ||
         std::ranges::any_of(kDirectives,
                             [&](const Directive<ProcessSettings>& d) { return d.name == key; });
}

Result<void> set_process_directive(ProcessSettings& settings, std::string_view key, Value value) {
  if (is_environment_directive(key)) return set_variable(settings, key, value);
  for (const Directive<ProcessSettings>& directive : kDirectives) {
    if (directive.name != key) continue;
    auto set = directive.set(settings, value);
    if (set) return {};
    return fail(set.error().code, fmt::format("{}: {}", key, set.error().message));
  }
  return fail(ErrorCode::kInvalid, fmt::format("unknown directive {}", base::printable(key)));
}

std::vector<std::string_view> process_directive_names() {
  std::vector<std::string_view> names = {kEnvironment};
  for (const Directive<ProcessSettings>& directive : kDirectives) names.push_back(directive.name);
  return names;
}

}  // namespace quarry::master
