#include "quarry/master/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "config_files.h"
#include "conflicts.h"
#include "directives.h"
#include "quarry/base/url.h"
#include "quarry/master/control_address.h"
#include "section_checks.h"

namespace quarry::master {
namespace {

/// The line of each directive in a section.
using Lines = std::map<std::string, int, std::less<>>;

class Checker {
 public:
  Checker(ConfigFiles files, const ReadingOptions& options)
      : files_(std::move(files)), running_as_root_(options.running_as_root), options_(options) {}

  ConfigReading check() {
    for (const base::IniMistake& mistake : files_.merged.mistakes) {
      // A negative line means that the main file cannot be read. Report only this, because all
      // other errors would be misleading.
      if (mistake.line < 0) return {{}, {mistake.message}, {}};
      report(mistake.line, mistake.message);
    }
    for (const base::IniMistake& remark : files_.remarks) {
      notices_.emplace(remark.line, remark.message);
    }
    for (const base::IniSection& section : files_.merged.sections) {
      if (!read_carried(section) && !options_.carried_sections_alone) read_section(section);
    }
    if (!options_.carried_sections_alone) check_sections_together();
    put_in_line_order(mistakes_, reading_.mistakes);
    put_in_line_order(notices_, reading_.notices);
    return std::move(reading_);
  }

 private:
  using Messages = std::multimap<int, std::string>;  // by line; line 0 stands for the whole file

  void report(int line, std::string message) { mistakes_.emplace(line, std::move(message)); }

  void put_in_line_order(const Messages& from, std::vector<std::string>& to) const {
    for (const auto& [line, message] : from) {
      to.push_back(files_.with_location(line, base::with_masked_secrets(message)));
    }
  }

  /// Returns functions that report findings about a section. LINES are the line numbers of the
  /// section's directives.
  Findings findings(const Lines& lines) {
    const auto into = [&lines](Messages& messages) {
      return [&](const std::string& directive, const std::string& message) {
        const auto at = lines.find(directive);
        messages.emplace(at == lines.end() ? 0 : at->second, message);
      };
    };
    return {into(mistakes_), into(notices_)};
  }

  /// Warns about directives in DIRECTIVES that are set in the section although they need root.
  void warn_of_settings_that_need_root(const Lines& lines,
                                       std::initializer_list<const char*> directives) {
    if (running_as_root_) return;
    for (const char* each : directives) {
      const auto at = lines.find(each);
      if (at == lines.end()) continue;
      notices_.emplace(at->second,
                       fmt::format("{} is ignored: quarryd does not run as root", each));
    }
  }

  void read_section(const base::IniSection& section) {
    if (section.name == "global") {
      const Lines lines = apply(section, reading_.config.global);
      check_priority(reading_.config.global.priority, running_as_root_, findings(lines));
      check_control(lines);
      const GlobalConfig& global = reading_.config.global;
      note_file(lines, "global", "pid", global.pid_file);
      if (global.log.target == base::LogTarget::kFile) {
        note_file(lines, "global", "error_log", global.log.path);
      }
      if (const auto at = lines.find("process.max"); at != lines.end()) max_line_ = at->second;
    } else if (section.name == "http") {
      HttpConfig http;
      http.line = section.line;
      if (options_.http_options) http.carried = options_.http_options();
      const Lines lines = apply(section, http);
      check_user(lines, http.line, http.user, http.group, http.run_as);
      warn_of_settings_that_need_root(lines, {"user", "group"});
      check_process(http.process, running_as_root_, findings(lines));
      if (!lines.contains("listen")) {
        report(http.line, "[http] needs listen = ADDRESS:PORT");
      }
      reading_.config.http = std::move(http);
    } else {
      read_pool(section);
    }
  }

  /// If ReadingOptions::carried_section accepts the name of SECTION, reads SECTION and returns
  /// true. Otherwise, returns false.
  bool read_carried(const base::IniSection& section) {
    if (!options_.carried_section) return false;
    CarriedSection carried{section.name, files_.place_of(section.line),
                           options_.carried_section(section.name)};
    if (!carried.carried) return false;
    const std::size_t mistakes = mistakes_.size();
    apply(section, carried);
    const auto checked = carried.carried->check();
    // Do not report this after other mistakes: a directive might be missing only because its name is
    // mistyped.
    if (!checked && mistakes_.size() == mistakes) {
      report(section.line, fmt::format("[{}] {}", section.name, checked.error().message));
    }
    reading_.config.carried.push_back(std::move(carried));
    return true;
  }

  void check_control(const Lines& lines) {
    GlobalConfig& global = reading_.config.global;
    if (lines.contains("control.socket") || global.pid_file.empty()) return;
    const auto address = control_socket_beside(global.pid_file);
    if (address) {
      global.control = *address;
    } else {
      report(
          lines.at("pid"),
          fmt::format(
              "pid: cannot place the control socket next to the pid file: {}; set control.socket",
              address.error().message));
    }
  }

  template <typename Section>
  Lines apply(const base::IniSection& section, Section& target) {
    Lines lines;
    for (const base::IniEntry& entry : section.entries) {
      std::string value = entry.value;
      if constexpr (std::is_same_v<Section, PoolConfig>) value = with_pool_name(value, target.name);
      if (is_under_prefix(section, entry.key) && is_relative(target, entry.key, value)) {
        value = (options_.prefix / value).string();
      }
      auto set = set_directive(target, entry.key, value);
      if (!set) report(entry.line, set.error().message);
      if constexpr (std::is_same_v<Section, HttpConfig>) {
        if (set && entry.key == "listen") {
          target.listens.back().place = files_.place_of(entry.line);
        }
      }
      if constexpr (requires { target.places; }) {
        target.places[entry.key].push_back(files_.place_of(entry.line));
      }
      lines[entry.key] = entry.line;
    }
    return lines;
  }

  /// Returns whether a relative path in the directive KEY is resolved against the prefix. A path
  /// inside a chroot is not resolved.
  bool is_under_prefix(const base::IniSection& section, std::string_view key) const {
    constexpr auto kInside =
        std::to_array<std::string_view>({"repository", "repositories", "chdir"});
    if (options_.prefix.empty()) return false;
    const auto is_chroot = [](const base::IniEntry& entry) { return entry.key == "chroot"; };
    return std::ranges::find(kInside, key) == kInside.end() ||
           std::ranges::none_of(section.entries, is_chroot);
  }

  void read_pool(const base::IniSection& section) {
    PoolConfig pool;
    pool.name = section.name;
    pool.line = section.line;
    if (options_.pool_options) pool.carried = options_.pool_options();
    if (base::printable(pool.name, 1000) != pool.name || pool.name.size() > 32) {
      report(section.line, "the name of a pool must have at most 32 characters, all printable");
    }
    if (pool.name.find('$') != std::string::npos) {
      report(section.line,
             "the name of a pool must not contain $, because $pool stands for the name");
    }
    const Lines lines = apply(section, pool);
    if (!pool.listen && !lines.contains("listen")) {
      report(pool.line, fmt::format("[{}] needs listen = PATH or ADDRESS:PORT", pool.name));
    }
    check_pool_user(lines, pool);
    check_socket_access(pool, findings(lines));
    if (running_as_root_) check_socket_owner(pool, findings(lines));
    note_access_line(lines, pool);
    check_processes(lines, pool);
    check_slow_log(pool, lines.contains("slowlog"), findings(lines));
    note_file(lines, pool.name, "access.log", pool.access.path);
    note_file(lines, pool.name, "slowlog", pool.slow_log.path);
    warn_of_settings_that_need_root(lines, {"user", "group", "listen.owner", "listen.group"});
    check_process(pool.process, running_as_root_, findings(lines));
    check_service(lines, pool);
    check_status(pool, lines.contains("pm.status_path"), findings(lines));
    reading_.config.pools.push_back(std::move(pool));
  }

  void check_pool_user(const Lines& lines, PoolConfig& pool) {
    check_user(lines, pool.line, pool.user, pool.group, pool.run_as);
    if (running_as_root_ && pool.user.empty()) {
      report(pool.line, fmt::format("[{}] needs user = NAME, because quarryd was started as root: "
                                    "files that root creates next to a repository would lock out "
                                    "its owner (set user = root if that is intended)",
                                    pool.name));
    }
  }

  /// Resolves USER and GROUP, and sets RUN_AS if the master is root.
  void check_user(const Lines& lines, int section_line, const std::string& user,
                  const std::string& group, std::optional<Credentials>& run_as) {
    if (user.empty()) {
      if (!group.empty()) report(lines.at("group"), "group also needs user");
      return;
    }
    const auto at = lines.find("user");
    auto credentials = credentials_named(user, group);
    if (!credentials) {
      return report(at == lines.end() ? section_line : at->second,
                    "user: " + credentials.error().message);
    }
    // If the master is not root, user and group are ignored, as in PHP-FPM.
    if (running_as_root_) run_as = std::move(*credentials);
  }

  void note_file(const Lines& lines, const std::string& section, const char* directive,
                 const std::string& path) {
    if (!lines.contains(directive)) return;
    if (const auto mistake = written_files_.add(section, directive, path)) {
      report(lines.at(directive), *mistake);
    }
  }

  void note_access_line(const Lines& lines, const PoolConfig& pool) {
    for (const auto& [directive, line] : lines) {
      constexpr auto kRestrictAccess = std::to_array<std::string_view>(
          {"listen.acl_groups", "listen.acl_users", "listen.allowed_clients", "listen.group",
           "listen.mode", "listen.owner"});
      if (std::ranges::find(kRestrictAccess, directive) == kRestrictAccess.end()) continue;
      access_lines_.emplace(pool.name, line);
    }
  }

  /// As in PHP-FPM, pm.start_servers is optional, but the limits on idle children are required.
  void check_processes(const Lines& lines, PoolConfig& pool) {
    ProcessLimits& limits = pool.processes;
    if (limits.manager != ProcessManager::kDynamic) return;
    bool is_complete = true;
    for (const char* needed : {"pm.min_spare_servers", "pm.max_spare_servers"}) {
      if (lines.contains(needed)) continue;
      is_complete = false;
      report(pool.line, fmt::format("[{}] needs {} = NUMBER with pm = dynamic", pool.name, needed));
    }
    if (!is_complete) return;
    check_spare_servers(limits, lines.contains("pm.start_servers"), findings(lines));
  }

  void check_service(const Lines& lines, const PoolConfig& pool) {
    const bool has_file = lines.contains("repository");
    const bool has_folder = lines.contains("repositories");
    if (has_file == has_folder) {
      const char* what = has_file ? "has both repository and repositories: leave one out"
                                  : "needs repository = FILE or repositories = FOLDER";
      return report(pool.line, fmt::format("[{}] {}", pool.name, what));
    }
    if (!options_.is_in_use) check_repositories(pool, findings(lines));
  }

  void check_sections_together() {
    if (reading_.config.pools.empty()) {
      report(0, "no pool is defined: add a section such as [www] with listen and repository");
    }
    check_listens();
    check_http();
    check_process_max();
  }

  void check_process_max() {
    std::size_t first = 0;
    for (const PoolConfig& pool : reading_.config.pools) first += first_children(pool.processes);
    const std::uint64_t limit = reading_.config.global.process_max;
    if (limit == 0 || limit >= first) return;
    notices_.emplace(
        max_line_,
        fmt::format("process.max: {} is less than the {} children that the pools start with", limit,
                    first));
  }

  /// Returns whether ADDRESS is [::]:PORT and LISTENS contain 0.0.0.0:PORT.
  static bool is_beside_ipv4(const base::SocketAddress& address,
                             const std::vector<HttpListen>& listens) {
    return address.ip() == "::" && std::ranges::any_of(listens, [&](const HttpListen& each) {
             return each.address->ip() == "0.0.0.0" && each.address->port() == address.port();
           });
  }

  void check_listens() {
    const GlobalConfig& global = reading_.config.global;
    Listens listens;
    const auto add = [&](const auto& address, const std::string& section, int line) {
      if (!address) return;
      if (const auto conflict = listens.add(*address, section)) report(line, *conflict);
    };
    add(global.control, "global", 0);
    add(global.metrics_listen, "global", 0);
    if (auto& http = reading_.config.http) {
      for (HttpListen& listen : http->listens) {
        listen.is_ipv6_only = is_beside_ipv4(*listen.address, http->listens);
        const auto conflict = listens.add(*listen.address, "http", listen.is_ipv6_only);
        if (conflict) report(http->line, *conflict);
      }
    }
    for (const PoolConfig& pool : reading_.config.pools) {
      add(pool.listen, pool.name, pool.line);
      add(pool.status_listen, pool.name, pool.line);
    }
    if (const auto section = listens.listener_at(global.pid_file)) {
      report(0, fmt::format("pid: {} is the socket of [{}]", global.pid_file, *section));
    }
  }

  void check_http() {
    auto& [global, http, pools, carried] = reading_.config;
    if (!http) return;
    if (std::ranges::any_of(http->listens,
                            [](const HttpListen& each) { return each.address->is_unix(); })) {
      report(http->line, "[http] listens on ADDRESS:PORT, not on a path");
    }
    const bool is_known =
        std::ranges::any_of(pools, [&](const PoolConfig& pool) { return pool.name == http->pool; });
    if (http->pool.empty() ? pools.size() > 1 : !is_known) {
      report(http->line,
             http->pool.empty()
                 ? "[http] needs pool = NAME, because there are several pools"
                 : fmt::format("[http]: pool \"{}\" does not exist", base::printable(http->pool)));
      return;
    }
    if (pools.empty()) return;
    const auto& pool = reading_.config.pool_of_http();
    if (!http->process.chroot.empty() && pool.listen && pool.listen->is_unix()) {
      report(http->line,
             fmt::format("[http] cannot reach {} from its chroot: let [{}] listen on ADDRESS:PORT",
                         pool.listen->path(), pool.name));
    }
    const bool has_known_user = !running_as_root_ || http->run_as || pool.run_as;
    if (!has_known_user) return;  // already reported
    const auto refused = why_front_is_refused(pool, http->run_as ? http->run_as : pool.run_as);
    if (refused)
      report(access_lines_.contains(pool.name) ? access_lines_[pool.name] : http->line, *refused);
  }

  ConfigFiles files_;
  bool running_as_root_;
  const ReadingOptions& options_;
  int max_line_ = 0;
  std::map<std::string, int> access_lines_;  // by pool: line of the directive that restricts it
  Messages mistakes_;
  Messages notices_;
  WrittenFiles written_files_;
  ConfigReading reading_;
};

}  // namespace

const PoolConfig& Config::pool_of_http() const {
  for (const PoolConfig& pool : pools) {
    if (http && pool.name == http->pool) return pool;
  }
  return pools.front();
}

std::string with_pool_name(std::string value, const std::string& name) {
  constexpr std::string_view kVariable = "$pool";
  for (std::size_t at = value.find(kVariable); at != std::string::npos;
       at = value.find(kVariable, at + name.size())) {
    value.replace(at, kVariable.size(), name);
  }
  return value;
}

ConfigReading parse_config(std::string_view text, const std::string& path,
                           const ReadingOptions& options) {
  return Checker(parse_config_files(text, path), options).check();
}

std::string place_of(const DirectivePlaces& places, const std::string& directive) {
  const auto found = places.find(directive);
  return found == places.end() ? std::string() : found->second.back();
}

ConfigReading read_config(const std::filesystem::path& path, const ReadingOptions& options) {
  return Checker(read_config_files(path), options).check();
}

}  // namespace quarry::master
