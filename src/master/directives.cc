#include "directives.h"

#include <fmt/core.h>

#include <array>
#include <limits>
#include <span>

#include "directive_table.h"
#include "process_directives.h"
#include "quarry/master/control_address.h"
#include "values.h"

namespace quarry::master {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Value = const std::string&;

constexpr std::uint64_t kMaxChildren = 10000;
constexpr std::uint64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

template <typename Target>
Result<void> put_limit(Target& target, Value value) {
  return put(target, parse_number(value, 0, kMaxCount));
}

Result<void> put_listen(std::optional<base::SocketAddress>& target, Value value) {
  return put(target, base::SocketAddress::parse(value));
}

Result<void> put_timeout(std::chrono::seconds& target, Value value) {
  QUARRY_TRY_ASSIGN(target, parse_duration(value));
  if (target.count() == 0) return fail(ErrorCode::kInvalid, "it must be at least 1s");
  return {};
}

Result<void> put_text(std::string& target, Value value) {
  target = value;
  return {};
}

Result<void> put_log_level(base::LogLevel& target, Value value) {
  bool known = false;
  target = base::log_level_named(value, &known);
  if (known) return {};
  return fail(ErrorCode::kInvalid, fmt::format("\"{}\" is none of debug, notice, warning, error, "
                                               "alert",
                                               base::printable(value)));
}

Result<void> put_log_limit(std::size_t& target, Value value) {
  return put(target, parse_number(value, base::kLeastLogLimit, kMaxCount));
}

Result<void> put_log_form(base::LogForm& target, Value value) {
  if (value != "text" && value != "json") {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is neither text nor json", base::printable(value)));
  }
  target = value == "json" ? base::LogForm::kJson : base::LogForm::kText;
  return {};
}

Result<void> put_facility(int& target, Value value) {
  const auto facility = base::syslog_facility_named(value);
  if (!facility) {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is no facility of syslog(3), such as daemon or local0",
                            base::printable(value)));
  }
  target = *facility;
  return {};
}

Result<void> put_ident(std::string& target, Value value) {
  const bool is_word = base::printable(value, 64) == value && value.find(' ') == value.npos;
  if (value.empty() || !is_word) {
    return fail(ErrorCode::kInvalid, "it is one word of at most 64 printable characters");
  }
  target = value;
  return {};
}

Result<void> add_suppressed_path(std::vector<std::string>& target, Value value) {
  QUARRY_TRY_ASSIGN(auto path, parse_path(value));
  target.push_back(std::move(path));
  return {};
}

Result<void> put_page(std::string& target, Value value) {
  return put(target, parse_page_path(value));
}

Result<void> put_ping_response(std::string& target, Value value) {
  if (value.empty()) return fail(ErrorCode::kInvalid, "it must not be empty");
  return put_text(target, value);
}

Result<void> put_manager(ProcessManager& target, Value value) {
  for (const auto manager :
       {ProcessManager::kStatic, ProcessManager::kDynamic, ProcessManager::kOndemand}) {
    if (value != name_of(manager)) continue;
    target = manager;
    return {};
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("\"{}\" is none of static, dynamic, ondemand", base::printable(value)));
}

Result<void> put_children(std::size_t& target, Value value) {
  return put(target, parse_number(value, 1, kMaxChildren));
}

constexpr auto kGlobalDirectives = std::to_array<Directive<GlobalConfig>>({
    {"error_log", [](auto& s, Value v) { return base::set_log_target(s.log, v); }},
    {"syslog.facility", [](auto& s, Value v) { return put_facility(s.log.facility, v); }},
    {"syslog.ident", [](auto& s, Value v) { return put_ident(s.log.ident, v); }},
    {"log_level", [](auto& s, Value v) { return put_log_level(s.log.level, v); }},
    {"log_limit", [](auto& s, Value v) { return put_log_limit(s.log.limit, v); }},
    {"log_buffering", [](auto& s, Value v) { return put(s.log.is_buffered, parse_bool(v)); }},
    {"log_format", [](auto& s, Value v) { return put_log_form(s.log.form, v); }},
    {"pid", [](auto& s, Value v) { return put(s.pid_file, parse_path(v)); }},
    {"control.socket", [](auto& s, Value v) { return put(s.control, parse_control_socket(v)); }},
    {"process_control_timeout",
     [](auto& s, Value v) { return put_timeout(s.process_control_timeout, v); }},
    {"daemonize", [](auto& s, Value v) { return put(s.daemonize, parse_bool(v)); }},
    {"rlimit_files", [](auto& s, Value v) { return put_limit(s.limits.files, v); }},
    {"rlimit_core", [](auto& s, Value v) { return put(s.limits.core, parse_core_limit(v)); }},
    {"process.priority", [](auto& s, Value v) { return put(s.priority, parse_priority(v)); }},
    {"process.max", [](auto& s, Value v) { return put_limit(s.process_max, v); }},
    {"emergency_restart_threshold",
     [](auto& s, Value v) { return put_limit(s.emergency_restart_threshold, v); }},
    {"emergency_restart_interval",
     [](auto& s, Value v) { return put(s.emergency_restart_interval, parse_duration(v)); }},
});

constexpr auto kHttpDirectives = std::to_array<Directive<HttpConfig>>({
    {"listen", [](auto& s, Value v) { return put_listen(s.listen, v); }},
    {"pool", [](auto& s, Value v) { return put_text(s.pool, v); }},
    {"max_body", [](auto& s, Value v) { return put(s.max_body, parse_size(v)); }},
    {"max_bodies", [](auto& s, Value v) { return put(s.max_bodies, parse_size(v)); }},
    {"trusted_proxies", [](auto& s, Value v) { return put(s.trusted_proxies, parse_networks(v)); }},
    {"max_reply", [](auto& s, Value v) { return put(s.max_reply, parse_size(v)); }},
    {"keepalive_timeout", [](auto& s, Value v) { return put_timeout(s.keepalive_timeout, v); }},
    {"client_timeout", [](auto& s, Value v) { return put_timeout(s.client_timeout, v); }},
    {"pool_timeout", [](auto& s, Value v) { return put_timeout(s.pool_timeout, v); }},
    {"max_connections",
     [](auto& s, Value v) { return put(s.max_connections, parse_number(v, 1, 100000)); }},
    {"user", [](auto& s, Value v) { return put_text(s.user, v); }},
    {"group", [](auto& s, Value v) { return put_text(s.group, v); }},
});

constexpr auto kPoolDirectives = std::to_array<Directive<PoolConfig>>({
    {"user", [](auto& s, Value v) { return put_text(s.user, v); }},
    {"group", [](auto& s, Value v) { return put_text(s.group, v); }},
    {"listen", [](auto& s, Value v) { return put_listen(s.listen, v); }},
    {"listen.backlog",
     [](auto& s, Value v) { return put(s.listen_options.backlog, parse_number(v, 1, 65535)); }},
    {"listen.owner", [](auto& s, Value v) { return put_text(s.listen_owner, v); }},
    {"listen.group", [](auto& s, Value v) { return put_text(s.listen_group, v); }},
    {"listen.mode", [](auto& s, Value v) { return put(s.listen_options.mode, parse_mode(v)); }},
    {"listen.acl_users", [](auto& s, Value v) { return put_text(s.listen_acl_users, v); }},
    {"listen.acl_groups", [](auto& s, Value v) { return put_text(s.listen_acl_groups, v); }},
    {"listen.allowed_clients",
     [](auto& s, Value v) { return put(s.allowed_clients, parse_addresses(v)); }},
    {"pm", [](auto& s, Value v) { return put_manager(s.processes.manager, v); }},
    {"pm.max_children", [](auto& s, Value v) { return put_children(s.processes.max_children, v); }},
    {"pm.start_servers",
     [](auto& s, Value v) { return put_children(s.processes.start_servers, v); }},
    {"pm.min_spare_servers",
     [](auto& s, Value v) { return put_children(s.processes.min_spare_servers, v); }},
    {"pm.max_spare_servers",
     [](auto& s, Value v) { return put_children(s.processes.max_spare_servers, v); }},
    {"pm.max_spawn_rate",
     [](auto& s, Value v) { return put_children(s.processes.max_spawn_rate, v); }},
    {"pm.process_idle_timeout",
     [](auto& s, Value v) { return put_timeout(s.processes.process_idle_timeout, v); }},
    {"pm.status_path", [](auto& s, Value v) { return put_page(s.status_path, v); }},
    {"pm.status_listen", [](auto& s, Value v) { return put_listen(s.status_listen, v); }},
    {"ping.path", [](auto& s, Value v) { return put_page(s.ping_path, v); }},
    {"ping.response", [](auto& s, Value v) { return put_ping_response(s.ping_response, v); }},
    {"pm.max_requests",
     [](auto& s, Value v) { return put(s.max_requests, parse_number(v, 0, kMaxCount)); }},
    {"request_terminate_timeout",
     [](auto& s, Value v) { return put(s.request_terminate_timeout, parse_duration(v)); }},
    {"request_terminate_timeout_track_finished",
     [](auto& s, Value v) { return put(s.terminate_track_finished, parse_bool(v)); }},
    {"request_slowlog_timeout",
     [](auto& s, Value v) { return put(s.slow_log.timeout, parse_duration(v)); }},
    {"slowlog", [](auto& s, Value v) { return put(s.slow_log.path, parse_path(v)); }},
    {"request_slowlog_trace_depth",
     [](auto& s, Value v) { return put(s.slow_log.trace_depth, parse_number(v, 1, 1000)); }},
    {"access.log", [](auto& s, Value v) { return put(s.access.path, parse_path(v)); }},
    {"access.format",
     [](auto& s, Value v) { return put(s.access.format, base::AccessFormat::compile(v)); }},
    {"access.suppress_path[]",
     [](auto& s, Value v) { return add_suppressed_path(s.access.suppress_paths, v); }},
    {"repository", [](auto& s, Value v) { return put(s.service.repository, parse_path(v)); }},
    {"repositories", [](auto& s, Value v) { return put(s.service.repositories, parse_path(v)); }},
    {"repository.cache",
     [](auto& s, Value v) { return put(s.service.cache, parse_number(v, 1, 1000)); }},
    {"repository.busy_timeout",
     [](auto& s, Value v) { return put(s.service.busy_timeout, parse_duration(v)); }},
    {"repository.max_artifact_size",
     [](auto& s, Value v) { return put(s.service.max_artifact_size, parse_size(v)); }},
    {"repository.content_cache",
     [](auto& s, Value v) { return put(s.service.content_cache_size, parse_size(v)); }},
    {"trust_remote_user",
     [](auto& s, Value v) { return put(s.service.trust_remote_user, parse_bool(v)); }},
    {"max_body", [](auto& s, Value v) { return put(s.service.max_body, parse_size(v)); }},
    {"read_timeout", [](auto& s, Value v) { return put_timeout(s.service.read_timeout, v); }},
    {"sync.max_body", [](auto& s, Value v) { return put(s.service.sync_max_body, parse_size(v)); }},
    {"sync.max_cards",
     [](auto& s, Value v) { return put(s.service.sync_max_cards, parse_number(v, 1, kMaxCount)); }},
    {"sync.max_gimme",
     [](auto& s, Value v) { return put(s.service.sync_max_gimme, parse_number(v, 1, 100000)); }},
    {"sync.refuse_own_server_code",
     [](auto& s, Value v) { return put(s.service.sync_refuse_own_server_code, parse_bool(v)); }},
    {"sync.single_login",
     [](auto& s, Value v) { return put(s.service.sync_single_login, parse_bool(v)); }},
});

template <typename Section>
Result<void> set_in(std::span<const Directive<Section>> directives, Section& section,
                    std::string_view key, Value value) {
  for (const Directive<Section>& directive : directives) {
    if (directive.name != key) continue;
    auto set = directive.set(section, value);
    if (set) return {};
    return fail(set.error().code, fmt::format("{}: {}", key, set.error().message));
  }
  return fail(ErrorCode::kInvalid, fmt::format("unknown directive {}", base::printable(key)));
}

}  // namespace

std::vector<std::string_view> directive_names() {
  std::vector<std::string_view> names;
  const auto add = [&](const auto& directives) {
    for (const auto& directive : directives) names.push_back(directive.name);
  };
  add(kGlobalDirectives);
  add(kHttpDirectives);
  add(kPoolDirectives);
  const auto shared = process_directive_names();
  names.insert(names.end(), shared.begin(), shared.end());
  return names;
}

Result<void> set_directive(GlobalConfig& section, std::string_view key, Value value) {
  return set_in<GlobalConfig>(kGlobalDirectives, section, key, value);
}
Result<void> set_directive(HttpConfig& section, std::string_view key, Value value) {
  if (is_process_directive(key)) return set_process_directive(section.process, key, value);
  return set_in<HttpConfig>(kHttpDirectives, section, key, value);
}
Result<void> set_directive(PoolConfig& section, std::string_view key, Value value) {
  if (is_process_directive(key)) return set_process_directive(section.process, key, value);
  return set_in<PoolConfig>(kPoolDirectives, section, key, value);
}

}  // namespace quarry::master
