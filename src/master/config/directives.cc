#include "directives.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "process_directives.h"
#include "quarry/master/control_address.h"
#include "quarry/master/kinds.h"

namespace quarry::master {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Value = const std::string&;

constexpr std::uint64_t kMaxChildren = 10000;

using ChildrenValue = Number<1, kMaxChildren>;

struct LogLevelValue {
  static Result<void> put(base::LogLevel& target, Value value) {
    bool known = false;
    target = base::log_level_named(value, &known);
    if (known) return {};
    return fail(ErrorCode::kInvalid, fmt::format("\"{}\" is none of debug, notice, warning, error, "
                                                 "alert",
                                                 base::printable(value)));
  }
  static Shown show(base::LogLevel level) { return {std::string(base::name_of(level))}; }
};

struct LogForm {
  static Result<void> put(base::LogForm& target, Value value) {
    if (value != "text" && value != "json") {
      return fail(ErrorCode::kInvalid,
                  fmt::format("\"{}\" is neither text nor json", base::printable(value)));
    }
    target = value == "json" ? base::LogForm::kJson : base::LogForm::kText;
    return {};
  }
  static Shown show(base::LogForm form) { return {form == base::LogForm::kJson ? "json" : "text"}; }
};

struct Ident : Text {
  static Result<void> put(std::string& target, Value value) {
    const bool is_word = base::printable(value, 64) == value && value.find(' ') == value.npos;
    if (value.empty() || !is_word) {
      return fail(ErrorCode::kInvalid, "it is one word of at most 64 printable characters");
    }
    return Text::put(target, value);
  }
};

/// A list of paths, one per line.
struct Paths {
  static Result<void> put(std::vector<std::string>& target, Value value) {
    QUARRY_TRY_ASSIGN(auto path, parse_path(value));
    target.push_back(std::move(path));
    return {};
  }
  static Shown show(const std::vector<std::string>& paths) { return paths; }
};

struct SomeText : Text {
  static Result<void> put(std::string& target, Value value) {
    if (value.empty()) return fail(ErrorCode::kInvalid, "it must not be empty");
    return Text::put(target, value);
  }
};

struct Format {
  static Result<void> put(base::AccessFormat& target, Value value) {
    return master::put(target, base::AccessFormat::compile(value));
  }
  static Shown show(const base::AccessFormat& format) { return {format.text()}; }
};

struct Manager {
  static Result<void> put(ProcessManager& target, Value value) {
    for (const auto manager :
         {ProcessManager::kStatic, ProcessManager::kDynamic, ProcessManager::kOndemand}) {
      if (value != name_of(manager)) continue;
      target = manager;
      return {};
    }
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is none of static, dynamic, ondemand", base::printable(value)));
  }
  static Shown show(ProcessManager manager) { return {std::string(name_of(manager))}; }
};

struct ControlSocket {
  static Result<void> put(std::optional<base::SocketAddress>& target, Value value) {
    return master::put(target, parse_control_socket(value));
  }
  static Shown show(const std::optional<base::SocketAddress>& address) {
    return {address ? address->path() : std::string("off")};
  }
  static bool is_relative(std::string_view value) {
    return value != "off" && Path::is_relative(value);
  }
};

constexpr auto kGlobalDirectives = std::to_array<Directive<GlobalConfig>>({
    {"error_log", LogTarget(), QUARRY_FIELD(log)},
    {"syslog.facility", Facility(), QUARRY_FIELD(log.facility)},
    {"syslog.ident", Ident(), QUARRY_FIELD(log.ident)},
    {"log_level", LogLevelValue(), QUARRY_FIELD(log.level)},
    {"log_limit", Number<base::kLeastLogLimit>(), QUARRY_FIELD(log.limit)},
    {"log_buffering", Switch(), QUARRY_FIELD(log.is_buffered)},
    {"log_format", LogForm(), QUARRY_FIELD(log.form)},
    {"pid", Path(), QUARRY_FIELD(pid_file)},
    {"control.socket", ControlSocket(), QUARRY_FIELD(control)},
    {"process_control_timeout", Duration(), QUARRY_FIELD(process_control_timeout)},
    {"daemonize", Switch(), QUARRY_FIELD(daemonize)},
    {"rlimit_files", Number<kLeastFiles>(), QUARRY_FIELD(limits.files)},
    {"rlimit_core", CoreLimit(), QUARRY_FIELD(limits.core)},
    {"process.priority", Priority(), QUARRY_FIELD(priority)},
    {"process.max", Number<>(), QUARRY_FIELD(process_max)},
    {"backoffice.max", Number<>(), QUARRY_FIELD(backoffice_max)},
    {"emergency_restart_threshold", Number<>(), QUARRY_FIELD(emergency_restart_threshold)},
    {"emergency_restart_interval", Duration(), QUARRY_FIELD(emergency_restart_interval)},
    {"systemd_interval", Duration(), QUARRY_FIELD(systemd_interval)},
});

constexpr auto kHttpDirectives = std::to_array<Directive<HttpConfig>>({
    {"listen", ListenAddress(), QUARRY_FIELD(listen)},
    {"pool", Text(), QUARRY_FIELD(pool)},
    {"trusted_proxies", Networks(), QUARRY_FIELD(trusted_proxies)},
    {"user", Text(), QUARRY_FIELD(user)},
    {"group", Text(), QUARRY_FIELD(group)},
});

constexpr auto kPoolDirectives = std::to_array<Directive<PoolConfig>>({
    {"user", Text(), QUARRY_FIELD(user)},
    {"group", Text(), QUARRY_FIELD(group)},
    {"listen", ListenAddress(), QUARRY_FIELD(listen)},
    {"listen.backlog", Backlog(), QUARRY_FIELD(listen_options.backlog)},
    {"listen.owner", Text(), QUARRY_FIELD(listen_owner)},
    {"listen.group", Text(), QUARRY_FIELD(listen_group)},
    {"listen.mode", Mode(), QUARRY_FIELD(listen_options.mode)},
    {"listen.acl_users", Text(), QUARRY_FIELD(listen_acl_users)},
    {"listen.acl_groups", Text(), QUARRY_FIELD(listen_acl_groups)},
    {"listen.allowed_clients", IpAddresses(), QUARRY_FIELD(allowed_clients)},
    {"pm", Manager(), QUARRY_FIELD(processes.manager)},
    {"pm.max_children", ChildrenValue(), QUARRY_FIELD(processes.max_children)},
    {"pm.start_servers", ChildrenValue(), QUARRY_FIELD(processes.start_servers)},
    {"pm.min_spare_servers", ChildrenValue(), QUARRY_FIELD(processes.min_spare_servers)},
    {"pm.max_spare_servers", ChildrenValue(), QUARRY_FIELD(processes.max_spare_servers)},
    {"pm.max_spawn_rate", ChildrenValue(), QUARRY_FIELD(processes.max_spawn_rate)},
    {"pm.process_idle_timeout", Timeout(), QUARRY_FIELD(processes.process_idle_timeout)},
    {"pm.status_path", PagePath(), QUARRY_FIELD(status_path)},
    {"pm.status_all", Switch(), QUARRY_FIELD(status_all)},
    {"pm.status_listen", ListenAddress(), QUARRY_FIELD(status_listen)},
    {"ping.path", PagePath(), QUARRY_FIELD(ping_path)},
    {"ping.response", SomeText(), QUARRY_FIELD(ping_response)},
    {"request_terminate_timeout", Duration(), QUARRY_FIELD(request_terminate_timeout)},
    {"request_terminate_timeout_track_finished", Switch(), QUARRY_FIELD(terminate_track_finished)},
    {"request_slowlog_timeout", Duration(), QUARRY_FIELD(slow_log.timeout)},
    {"slowlog", Path(), QUARRY_FIELD(slow_log.path)},
    {"access.log", Path(), QUARRY_FIELD(access.path)},
    {"access.format", Format(), QUARRY_FIELD(access.format)},
    {"access.suppress_path[]", Paths(), QUARRY_FIELD(access.suppress_paths)},
    {"repository", Path(), QUARRY_FIELD(repository)},
    {"repositories", Path(), QUARRY_FIELD(repositories)},
});

/// All directives of a section: its own, which are in TABLE, those of its processes, and those that
/// are passed through.
template <typename Section>
Result<void> set_in_section(std::span<const Directive<Section>> table, Section& section,
                            std::string_view key, Value value) {
  if (is_process_directive(key)) return set_process_directive(section.process, key, value);
  if (section.carried && section.carried->has(key)) return section.carried->set(key, value);
  return set_in(table, section, key, value);
}

template <typename Section>
bool is_relative_in_section(std::span<const Directive<Section>> table, const Section& section,
                            std::string_view key, std::string_view value) {
  return is_relative_in(table, key, value) || is_relative_for_process(key, value) ||
         (section.carried && section.carried->is_relative(key, value));
}

template <typename Section>
std::vector<ShownDirective> shown_in_section(std::span<const Directive<Section>> table,
                                             const Section& section) {
  auto shown = shown_in(table, section);
  if (section.carried) std::ranges::move(section.carried->shown(), std::back_inserter(shown));
  std::ranges::move(shown_process_directives(section.process), std::back_inserter(shown));
  return shown;
}

}  // namespace

Result<void> set_directive(GlobalConfig& section, std::string_view key, Value value) {
  return set_in<GlobalConfig>(kGlobalDirectives, section, key, value);
}
Result<void> set_directive(HttpConfig& section, std::string_view key, Value value) {
  return set_in_section<HttpConfig>(kHttpDirectives, section, key, value);
}
Result<void> set_directive(PoolConfig& section, std::string_view key, Value value) {
  return set_in_section<PoolConfig>(kPoolDirectives, section, key, value);
}

bool is_relative(const GlobalConfig&, std::string_view key, std::string_view value) {
  return is_relative_in<GlobalConfig>(kGlobalDirectives, key, value);
}
bool is_relative(const HttpConfig& section, std::string_view key, std::string_view value) {
  return is_relative_in_section<HttpConfig>(kHttpDirectives, section, key, value);
}
bool is_relative(const PoolConfig& section, std::string_view key, std::string_view value) {
  return is_relative_in_section<PoolConfig>(kPoolDirectives, section, key, value);
}

std::vector<ShownDirective> shown_directives(const GlobalConfig& section) {
  return shown_in<GlobalConfig>(kGlobalDirectives, section);
}
std::vector<ShownDirective> shown_directives(const HttpConfig& section) {
  return shown_in_section<HttpConfig>(kHttpDirectives, section);
}
std::vector<ShownDirective> shown_directives(const PoolConfig& section) {
  return shown_in_section<PoolConfig>(kPoolDirectives, section);
}

Result<void> set_directive(CarriedSection& section, std::string_view key, Value value) {
  return section.carried->set(key, value);
}

bool is_relative(const CarriedSection& section, std::string_view key, std::string_view value) {
  return section.carried->is_relative(key, value);
}

std::vector<ShownDirective> shown_directives(const CarriedSection& section) {
  return section.carried->shown();
}

}  // namespace quarry::master
