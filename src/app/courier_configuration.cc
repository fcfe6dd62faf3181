#include "courier_configuration.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "quarry/base/url.h"
#include "quarry/event/event.h"
#include "quarry/http/syntax.h"
#include "quarry/master/credentials.h"
#include "quarry/master/kinds.h"
#include "quarry/spool/options.h"

namespace quarry::app {
namespace {

using courier::Batch;
using courier::CourierOptions;
using courier::DestinationOptions;
using courier::DestinationType;
using courier::StartTls;
using master::Directive;
using master::Duration;
using master::Mode;
using master::Number;
using master::Path;
using master::Shown;
using master::Size;
using master::Switch;
using master::Text;
using master::Timeout;

constexpr std::string_view kCourier = "courier";
constexpr std::string_view kDestination = "destination ";
constexpr auto kStartTls =
    std::to_array<std::pair<std::string_view, StartTls>>({{"off", StartTls::kOff},
                                                          {"if-offered", StartTls::kIfOffered},
                                                          {"required", StartTls::kRequired}});

constexpr auto kBatches = std::to_array<std::pair<std::string_view, Batch>>(
    {{"none", Batch::kNone}, {"push", Batch::kPush}});

struct Names {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    target = master::split_list(value);
    return {};
  }
  static Shown show(const std::vector<std::string>& names) {
    std::string joined;
    for (const std::string& each : names) joined += (joined.empty() ? "" : ", ") + each;
    return joined.empty() ? Shown() : Shown{joined};
  }
};

struct EventTypes : Names {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    QUARRY_TRY(Names::put(target, value));
    if (value == "all") target.clear();
    std::ranges::replace(target, "all", "*");
    for (const std::string& each : target) {
      if (event::covers_any_type(each)) continue;
      return fail(ErrorCode::kInvalid, "\"{}\" does not match any event type; see quarry-events(7)",
                  base::printable(each));
    }
    return {};
  }
};

struct Addresses : Names {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    QUARRY_TRY(Names::put(target, value));
    for (const std::string& each : target) {
      if (each.find('@') != std::string::npos && each.find_first_of(" \t<>") == std::string::npos) {
        continue;
      }
      return fail(ErrorCode::kInvalid, "\"{}\" is not an address like name@domain",
                  base::printable(each));
    }
    return {};
  }
};

/// Addresses, or only `submitter`.
struct Recipients : Addresses {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    if (value != courier::kSubmitter) return Addresses::put(target, value);
    target = {value};
    return {};
  }
};

struct Address : Text {
  static Result<void> put(std::string& target, const std::string& value) {
    std::vector<std::string> all;
    QUARRY_TRY(Addresses::put(all, value));
    if (all.size() != 1) return fail(ErrorCode::kInvalid, "must be a single address");
    target = all.front();
    return {};
  }
};

struct Type {
  static Result<void> put(DestinationType& target, const std::string& value) {
    target = courier::destination_type_named(value);
    if (target != DestinationType::kNone) return {};
    return fail(ErrorCode::kInvalid,
                "\"{}\" is not one of webhook, mail, program, syslog, journald, file, loki, "
                "opensearch, json-lines",
                base::printable(value));
  }
  static Shown show(DestinationType type) {
    const std::string_view name = courier::name_of(type);
    return name.empty() ? Shown() : Shown{std::string(name)};
  }
};

struct CommandWords {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    return master::put(target, courier::split_command(value));
  }
  static Shown show(const std::vector<std::string>& words) {
    return words.empty() ? Shown() : Shown{courier::join_command(words)};
  }
};

/// A size. 0 means unlimited, and is shown as not set.
struct Limit : Size {
  static Shown show(std::uint64_t size) { return size == 0 ? Shown() : Size::show(size); }
};

/// A URL. Only scheme, host and port are shown, because the rest might be secret.
struct SecretUrl : Text {
  static Shown show(const std::string& url) {
    if (url.empty()) return {};
    const std::size_t scheme = url.find("://");
    if (scheme == std::string::npos) return {std::string(base::kMask)};
    const std::string_view login = base::credentials_in(url);
    std::string_view rest = std::string_view(url).substr(scheme + 3);
    if (!login.empty()) rest.remove_prefix(login.size() + 1);
    const std::size_t path = std::min(rest.find_first_of("/?#"), rest.size());
    return {fmt::format("{}{}{}{}", url.substr(0, scheme + 3), login.empty() ? "" : "***@",
                        rest.substr(0, path + 1), path + 1 < rest.size() ? base::kMask : "")};
  }
};

/// A directive that can be repeated, with one header per value. The headers' values are not shown.
struct Headers {
  static Result<void> put(std::vector<std::string>& target, const std::string& value) {
    QUARRY_TRY(courier::check_header(value));
    target.push_back(value);
    return {};
  }
  static Shown show(const std::vector<std::string>& headers) {
    Shown shown;
    for (const std::string& each : headers) {
      shown.push_back(fmt::format("{}: {}", each.substr(0, each.find(':')), base::kMask));
    }
    return shown;
  }
};

/// Text as a template argument.
template <std::size_t size>
struct FixedText {
  consteval FixedText(const char (&text)[size]) { std::ranges::copy(text, characters); }
  constexpr std::string_view view() const { return {characters, size - 1}; }
  char characters[size]{};
};

/// A parameter of the queue of a destination with `logs`, with the syntax of rsyslog.
template <FixedText name>
struct QueueParameter {
  static constexpr std::string_view kName = name.view().substr(std::string_view("queue.").size());

  static Result<void> put(std::map<std::string, std::string>& queue, const std::string& value) {
    spool::QueueOptions scratch;
    QUARRY_TRY(spool::set_parameter(scratch, kName, value));
    queue[std::string(kName)] = value;
    return {};
  }
  static Shown show(const std::map<std::string, std::string>& queue) {
    const auto found = queue.find(std::string(kName));
    return found == queue.end() ? Shown() : Shown{found->second};
  }
};
template <FixedText name>
constexpr Directive<DestinationOptions> queue_parameter() {
  return {name.view(), QueueParameter<name>(), QUARRY_FIELD(queue)};
}

constexpr auto kCourierDirectives = std::to_array<Directive<CourierOptions>>({
    {"socket", Path(), QUARRY_FIELD(socket)},
    {"spool.directory", Path(), QUARRY_FIELD(spool_directory)},
    {"spool.max_disk_space", Limit(), QUARRY_FIELD(max_disk_space)},
    {"error_log", master::LogTarget(), QUARRY_FIELD(log)},
    {"user", Text(), QUARRY_FIELD(user)},
    {"group", Text(), QUARRY_FIELD(group)},
    {"listen.owner", Text(), QUARRY_FIELD(listen_owner)},
    {"listen.group", Text(), QUARRY_FIELD(listen_group)},
    {"listen.mode", Mode(), QUARRY_FIELD(listen_mode)},
    {"fossil", Text(), QUARRY_FIELD(fossil)},
    {"hooks", Switch(), QUARRY_FIELD(hooks)},
    {"hooks.timeout", Timeout(), QUARRY_FIELD(hook_timeout)},
});

constexpr auto kDestinationDirectives = std::to_array<Directive<DestinationOptions>>({
    {"type", Type(), QUARRY_FIELD(type)},
    {"events", EventTypes(), QUARRY_FIELD(events)},
    {"batch", master::Choice<kBatches>(), QUARRY_FIELD(batch)},
    {"projects", Names(), QUARRY_FIELD(projects)},
    {"repositories", Names(), QUARRY_FIELD(repositories)},
    {"in_order", Switch(), QUARRY_FIELD(in_order)},
    {"max_attempts", Number<>(), QUARRY_FIELD(max_attempts)},
    {"retry.delay", Timeout(), QUARRY_FIELD(retry_delay)},
    {"retry.max_delay", Timeout(), QUARRY_FIELD(retry_max_delay)},
    {"timeout", Duration(), QUARRY_FIELD(timeout)},
    {"window", Number<1, 65536>(), QUARRY_FIELD(window)},
    {"url", SecretUrl(), QUARRY_FIELD(url)},
    {"secret_file", Path(), QUARRY_FIELD(secret_file)},
    {"header[]", Headers(), QUARRY_FIELD(headers)},
    {"ca_file", Path(), QUARRY_FIELD(ca_file)},
    {"allow_redirects", Switch(), QUARRY_FIELD(allow_redirects)},
    {"format", master::Choice<courier::kFormats>(), QUARRY_FIELD(format)},
    {"template", Path(), QUARRY_FIELD(template_file)},
    {"from", Address(), QUARRY_FIELD(from)},
    {"to", Recipients(), QUARRY_FIELD(to)},
    {"starttls", master::Choice<kStartTls>(), QUARRY_FIELD(start_tls)},
    {"user", Text(), QUARRY_FIELD(user)},
    {"password_file", Path(), QUARRY_FIELD(password_file)},
    {"sendmail", Path(), QUARRY_FIELD(sendmail)},
    {"command", CommandWords(), QUARRY_FIELD(command)},
    {"facility", master::Facility(), QUARRY_FIELD(facility)},
    {"tag", Text(), QUARRY_FIELD(tag)},
    {"socket", Path(), QUARRY_FIELD(socket)},
    {"path", Path(), QUARRY_FIELD(path)},
    {"logs", Switch(), QUARRY_FIELD(logs)},
    queue_parameter<"queue.size">(),
    queue_parameter<"queue.highwatermark">(),
    queue_parameter<"queue.lowwatermark">(),
    queue_parameter<"queue.discardmark">(),
    queue_parameter<"queue.discardseverity">(),
    queue_parameter<"queue.maxfilesize">(),
    queue_parameter<"queue.maxdiskspace">(),
    queue_parameter<"queue.checkpointinterval">(),
    queue_parameter<"queue.syncqueuefiles">(),
    queue_parameter<"queue.saveonshutdown">(),
    queue_parameter<"queue.dequeuebatchsize">(),
    queue_parameter<"queue.timeoutenqueue">(),
    queue_parameter<"queue.timeoutshutdown">(),
});

/// Returns the path of the courier's folder with SUFFIX.
std::filesystem::path beside_spool(const CourierOptions& options, const char* suffix) {
  auto folder = std::filesystem::path(options.spool_directory).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return folder += suffix;
}

class CourierSection final : public master::OptionsBy<CourierOptions> {
 public:
  CourierSection() : OptionsBy(kCourierDirectives) {}

  Result<void> check() const override {
    const CourierOptions& named = options();
    if (named.user.empty() && !named.group.empty()) {
      return fail(ErrorCode::kInvalid, "group requires user");
    }
    if (!named.user.empty()) QUARRY_TRY(master::credentials_named(named.user, named.group));
    if (!named.listen_owner.empty()) QUARRY_TRY(master::credentials_named(named.listen_owner, ""));
    if (!named.listen_group.empty()) QUARRY_TRY(master::group_named(named.listen_group));
    if (named.log.target == base::LogTarget::kDestination) {
      return fail(ErrorCode::kInvalid,
                  "error_log: the courier cannot deliver its own log to a destination");
    }
    QUARRY_TRY(base::SocketAddress::parse(named.socket));
    return {};
  }
};

class DestinationSection final : public master::OptionsBy<DestinationOptions> {
 public:
  explicit DestinationSection(std::string name)
      : OptionsBy(kDestinationDirectives, {.name = std::move(name)}) {}

  Result<void> check() const override {
    QUARRY_TRY(courier::check_destination_name(options().name));
    return options().check();
  }
};

}  // namespace

std::shared_ptr<master::CarriedOptions> courier_section(const std::string& name) {
  if (name == kCourier) return std::make_shared<CourierSection>();
  if (!name.starts_with(kDestination)) return nullptr;
  return std::make_shared<DestinationSection>(name.substr(kDestination.size()));
}

std::optional<courier::CourierConfig> courier_config_in(const master::Config& config) {
  std::optional<courier::CourierConfig> found;
  for (const master::CarriedSection& section : config.carried) {
    if (section.name != kCourier) continue;
    found.emplace();
    found->options = master::options_in<CourierOptions>(section.carried);
  }
  if (!found) return found;
  for (const master::CarriedSection& section : config.carried) {
    if (!section.name.starts_with(kDestination)) continue;
    auto options = master::options_in<DestinationOptions>(section.carried);
    (options.logs ? found->log_destinations : found->destinations).push_back(std::move(options));
  }
  return found;
}

std::filesystem::path hooks_directory(const courier::CourierOptions& options) {
  return beside_spool(options, ".hooks");
}

std::filesystem::path logs_directory(const courier::CourierOptions& options) {
  return beside_spool(options, ".logs");
}

std::string file_name_of_pool(const std::string& pool) {
  return http::percent_encode(pool, "-_", "%20");
}

std::string hooks_socket(const courier::CourierOptions& options, const std::string& pool) {
  return fmt::format("{}.hooks.{}", options.socket, file_name_of_pool(pool));
}

bool runs_hooks(const master::Config& config) {
  const auto courier = courier_config_in(config);
  return courier && courier->options.hooks;
}

bool writes_to_submitters(const master::Config& config) {
  const auto courier = courier_config_in(config);
  return courier &&
         std::ranges::any_of(courier->destinations, &courier::DestinationOptions::is_to_submitter);
}

namespace {

/// Returns the errors in the names of destinations of logs.
std::vector<std::string> log_mistakes(const master::Config& config,
                                      const std::optional<courier::CourierConfig>& courier) {
  std::vector<std::string> mistakes;
  const auto check = [&](const std::string& section, const char* directive, std::string_view name) {
    const bool is_there =
        courier && std::ranges::any_of(courier->log_destinations,
                                       [&](const auto& each) { return each.name == name; });
    if (is_there) return;
    mistakes.push_back(
        fmt::format("[{}] {} = destination:{}: requires a [courier] section, and a section "
                    "[destination {}] with "
                    "logs = yes",
                    section, directive, base::printable(name), base::printable(name)));
  };
  const base::LogOptions& log = config.global.log;
  if (log.target == base::LogTarget::kDestination) check("global", "error_log", log.destination);
  for (const master::PoolConfig& pool : config.pools) {
    const auto name = base::destination_in(pool.access.path);
    if (name) check(pool.name, "access.log", *name);
  }
  return mistakes;
}

}  // namespace

std::vector<std::string> courier_mistakes(const master::Config& config) {
  const auto courier = courier_config_in(config);
  std::vector<std::string> mistakes = log_mistakes(config, courier);
  if (courier) return mistakes;
  for (const master::CarriedSection& section : config.carried) {
    if (!section.name.starts_with(kDestination)) continue;
    mistakes.push_back(
        fmt::format("{}: [{}] requires a [courier] section", section.place, section.name));
  }
  return mistakes;
}

CourierReading read_courier_config(const std::filesystem::path& path) {
  CourierReading result;
  master::ReadingOptions options;
  options.carried_section = [&result](const std::string& name) {
    auto section = courier_section(name);
    if (!section) result.other_sections.insert(name);
    return section;
  };
  options.carried_sections_alone = true;
  master::ConfigReading reading = master::read_config(path, options);
  result.mistakes = std::move(reading.mistakes);
  if (!result.mistakes.empty()) return result;
  result.mistakes = courier_mistakes(reading.config);
  const auto config = courier_config_in(reading.config);
  if (config) {
    result.config = *config;
  } else if (result.mistakes.empty()) {
    result.mistakes.push_back(fmt::format("{}: no [courier] section", path.string()));
  }
  return result;
}

}  // namespace quarry::app
