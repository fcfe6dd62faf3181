#include "directives.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "quarry/base/ini.h"
#include "quarry/base/split.h"
#include "quarry/base/url.h"
#include "quarry/master/control_address.h"
#include "quarry/master/kinds.h"

namespace quarry::master {
namespace {

using Value = const std::string&;

using ChildrenValue = Number<1, 10000>;

constexpr std::array<std::pair<std::string_view, base::LogLevel>, 5> kLogLevels{
    {{"debug", base::LogLevel::kDebug},
     {"notice", base::LogLevel::kNotice},
     {"warning", base::LogLevel::kWarning},
     {"error", base::LogLevel::kError},
     {"alert", base::LogLevel::kAlert}}};
constexpr std::array<std::pair<std::string_view, base::LogForm>, 2> kLogForms{
    {{"text", base::LogForm::kText}, {"json", base::LogForm::kJson}}};

struct Ident : Text {
  static Result<void> put(std::string& target, Value value) {
    const bool is_word = base::printable(value, 64) == value && value.find(' ') == value.npos;
    if (value.empty() || !is_word) {
      return fail(ErrorCode::kInvalid, "must be one word of at most 64 printable characters");
    }
    return Text::put(target, value);
  }
};

struct SomeText : Text {
  static Result<void> put(std::string& target, Value value) {
    if (value.empty()) return fail(ErrorCode::kInvalid, "must not be empty");
    return Text::put(target, value);
  }
};

struct Format {
  static Result<void> put(base::AccessFormat& target, Value value) {
    return master::put(target, base::AccessFormat::compile(value));
  }
  static Shown show(const base::AccessFormat& format) { return {format.text()}; }
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

struct ListenWord {
  std::string_view name;
  bool HttpListen::*field;
};
constexpr auto kListenWords =
    std::to_array<ListenWord>({{"ssl", &HttpListen::is_tls},
                               {"redirect", &HttpListen::redirects},
                               {"proxy_protocol", &HttpListen::has_proxy_protocol}});

/// A list of `listen` directives, in nginx's syntax.
struct HttpListens {
  static Result<void> put(std::vector<HttpListen>& target, Value value) {
    std::string_view words = value;
    HttpListen listen;
    QUARRY_TRY(ListenAddress::put(listen.address, std::string(base::take_until(words, ' '))));
    while (!words.empty()) {
      const std::string_view word = base::take_until(words, ' ');
      const auto known = std::ranges::find(kListenWords, word, &ListenWord::name);
      if (known != kListenWords.end()) {
        listen.*known->field = true;
      } else if (!word.empty()) {
        return fail(ErrorCode::kInvalid, "\"{}\" is not one of ssl, redirect, proxy_protocol",
                    base::printable(word));
      }
    }
    if (listen.is_tls && listen.redirects) {
      return fail(ErrorCode::kInvalid, "redirect is not possible with ssl");
    }
    target.push_back(std::move(listen));
    return {};
  }
  static Shown show(const std::vector<HttpListen>& listens) {
    Shown shown;
    for (const HttpListen& each : listens) {
      std::string& text = shown.emplace_back(each.address->str());
      for (const ListenWord& word : kListenWords) {
        if (each.*word.field) text.append(" ").append(word.name);
      }
    }
    return shown;
  }
  static bool is_relative(std::string_view value) { return ListenAddress::is_relative(value); }
};

constexpr auto kGlobalDirectives = std::to_array<Directive<GlobalConfig>>({
    {"error_log", LogTarget(), QUARRY_FIELD(log)},
    {"syslog.facility", Facility(), QUARRY_FIELD(log.facility)},
    {"syslog.ident", Ident(), QUARRY_FIELD(log.ident)},
    {"log_level", Choice<kLogLevels>(), QUARRY_FIELD(log.level)},
    {"log_limit", Number<base::kMinLogLimit>(), QUARRY_FIELD(log.limit)},
    {"log_buffering", Switch(), QUARRY_FIELD(log.is_buffered)},
    {"log_format", Choice<kLogForms>(), QUARRY_FIELD(log.form)},
    {"pid", Path(), QUARRY_FIELD(pid_file)},
    {"control.socket", ControlSocket(), QUARRY_FIELD(control)},
    {"metrics.listen", ListenAddress(), QUARRY_FIELD(metrics_listen)},
    {"process_control_timeout", Duration(), QUARRY_FIELD(process_control_timeout)},
    {"daemonize", Switch(), QUARRY_FIELD(daemonize)},
    {"rlimit_files", Number<kMinFiles>(), QUARRY_FIELD(limits.files)},
    {"rlimit_core", CoreLimit(), QUARRY_FIELD(limits.core)},
    {"process.priority", Priority(), QUARRY_FIELD(priority)},
    {"process.max", Number<>(), QUARRY_FIELD(process_max)},
    {"backoffice.max", Number<>(), QUARRY_FIELD(backoffice_max)},
    {"emergency_restart_threshold", Number<>(), QUARRY_FIELD(emergency_restart_threshold)},
    {"emergency_restart_interval", Duration(), QUARRY_FIELD(emergency_restart_interval)},
    {"systemd_interval", Duration(), QUARRY_FIELD(systemd_interval)},
});

constexpr auto kHttpDirectives = std::to_array<Directive<HttpConfig>>({
    {"listen", HttpListens(), QUARRY_FIELD(listens)},
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
    {"pm", Choice<kProcessManagers>(), QUARRY_FIELD(processes.manager)},
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
    {"access.log", AccessLogTarget(), QUARRY_FIELD(access.path)},
    {"access.format", Format(), QUARRY_FIELD(access.format)},
    {"access.suppress_path[]", Paths(), QUARRY_FIELD(access.suppress_paths)},
    {"repository", Path(), QUARRY_FIELD(repository)},
    {"repositories", Path(), QUARRY_FIELD(repositories)},
});

constexpr auto kProcessDirectives = std::to_array<Directive<ProcessSettings>>({
    {"rlimit_files", Number<kMinFiles>(), QUARRY_FIELD(limits.files)},
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
    return fail(ErrorCode::kInvalid,
                "{}: a name consists of letters, digits and _, and does not begin with a digit",
                base::printable(key));
  }
  settings.environment.emplace_back(name, value);
  return {};
}

std::span<const Directive<GlobalConfig>> directives_of(const GlobalConfig&) {
  return kGlobalDirectives;
}
std::span<const Directive<HttpConfig>> directives_of(const HttpConfig&) {
  return kHttpDirectives;
}
std::span<const Directive<PoolConfig>> directives_of(const PoolConfig&) {
  return kPoolDirectives;
}
std::span<const Directive<CarriedSection>> directives_of(const CarriedSection&) {
  return {};
}

}  // namespace

bool may_repeat(std::string_view section, std::string_view key) {
  return section == "http" &&
         (key == "listen" || key == "ssl_certificate" || key == "ssl_certificate_key");
}

// A directive is looked up in up to three places: the settings of the section's processes, the
// directives that the section carries for another module, and the section's own directives.

template <typename Section>
Result<void> set_directive(Section& section, std::string_view key, Value value) {
  if constexpr (requires { section.process; }) {
    if (is_environment_directive(key)) return set_variable(section.process, key, value);
    if (find_directive<ProcessSettings>(kProcessDirectives, key) != nullptr) {
      return set_in<ProcessSettings>(kProcessDirectives, section.process, key, value);
    }
  }
  if constexpr (requires { section.carried; }) {
    if (section.carried && section.carried->has(key)) return section.carried->set(key, value);
  }
  return set_in(directives_of(section), section, key, value);
}

template <typename Section>
bool is_relative(const Section& section, std::string_view key, std::string_view value) {
  if constexpr (requires { section.process; }) {
    if (is_relative_in<ProcessSettings>(kProcessDirectives, key, value)) return true;
  }
  if constexpr (requires { section.carried; }) {
    if (section.carried && section.carried->is_relative(key, value)) return true;
  }
  return is_relative_in(directives_of(section), key, value);
}

template Result<void> set_directive(GlobalConfig&, std::string_view, Value);
template bool is_relative(const GlobalConfig&, std::string_view, std::string_view);
template Result<void> set_directive(HttpConfig&, std::string_view, Value);
template bool is_relative(const HttpConfig&, std::string_view, std::string_view);
template Result<void> set_directive(PoolConfig&, std::string_view, Value);
template bool is_relative(const PoolConfig&, std::string_view, std::string_view);
template Result<void> set_directive(CarriedSection&, std::string_view, Value);
template bool is_relative(const CarriedSection&, std::string_view, std::string_view);

namespace {

/// Returns whether the value of the environment variable NAME is never a secret. Users and passwords
/// in the URLs of proxies are masked separately.
bool is_harmless(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
       "USER", "http_proxy", "https_proxy", "no_proxy"});
  return name.starts_with("LC_") || std::ranges::find(kNames, name) != kNames.end();
}

/// Returns all directives of SECTION with their values, including defaults. Unless HAS_SECRETS is
/// set, values of the environment that might be secrets are masked.
template <typename Section>
std::vector<ShownDirective> shown_directives(const Section& section, bool has_secrets) {
  auto shown = shown_in(directives_of(section), section);
  if constexpr (requires { section.carried; }) {
    if (section.carried) std::ranges::move(section.carried->shown(), std::back_inserter(shown));
  }
  if constexpr (requires { section.process; }) {
    const auto of_process = shown_in<ProcessSettings>(kProcessDirectives, section.process);
    shown.insert(shown.end(), of_process.begin(), of_process.end());
    for (const auto& [name, variable] : section.process.environment) {
      const bool is_shown = has_secrets || is_harmless(name) || variable.starts_with('$');
      shown.push_back(
          {fmt::format("env[{}]", name), {is_shown ? variable : std::string(base::kMask)}});
    }
    if (section.process.environment.empty()) shown.push_back({"env[NAME]", {}});
  }
  return shown;
}

template <typename Section>
void add_section(std::string& text, std::string_view name, const Section& section,
                 bool has_secrets) {
  text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", name);
  for (const ShownDirective& directive : shown_directives(section, has_secrets)) {
    for (const std::string& value : directive.values) {
      text +=
          base::ini_line(directive.name, has_secrets ? value : base::with_masked_secrets(value));
    }
    if (directive.values.empty()) text += fmt::format(";{} =\n", directive.name);
  }
}

}  // namespace

std::string dump(const Config& config, bool has_secrets) {
  std::string text;
  add_section(text, "global", config.global, has_secrets);
  if (config.http) add_section(text, "http", *config.http, has_secrets);
  for (const PoolConfig& pool : config.pools) add_section(text, pool.name, pool, has_secrets);
  for (const CarriedSection& section : config.carried)
    add_section(text, section.name, section, has_secrets);
  return text;
}

}  // namespace quarry::master
