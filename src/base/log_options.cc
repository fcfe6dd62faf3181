#include "quarry/base/log_options.h"

#include <fmt/core.h>
#include <sys/un.h>
#include <syslog.h>

#include <algorithm>
#include <array>

#include "quarry/base/ascii.h"
#include "quarry/base/escape.h"

namespace quarry::base {
namespace {

struct Facility {
  std::string_view name;
  int number;
};

constexpr auto kFacilities = std::to_array<Facility>({
    {"auth", LOG_AUTH},     {"authpriv", LOG_AUTHPRIV}, {"cron", LOG_CRON},
    {"daemon", LOG_DAEMON}, {"ftp", LOG_FTP},           {"kern", LOG_KERN},
    {"lpr", LOG_LPR},       {"mail", LOG_MAIL},         {"news", LOG_NEWS},
    {"syslog", LOG_SYSLOG}, {"user", LOG_USER},         {"uucp", LOG_UUCP},
    {"local0", LOG_LOCAL0}, {"local1", LOG_LOCAL1},     {"local2", LOG_LOCAL2},
    {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4},     {"local5", LOG_LOCAL5},
    {"local6", LOG_LOCAL6}, {"local7", LOG_LOCAL7},
});

constexpr std::string_view kDestinationPrefix = "destination:";

struct Service {
  std::string_view word;
  LogTarget target;
  std::string_view usual_socket;
};

constexpr auto kServices = std::to_array<Service>({
    {"syslog", LogTarget::kSyslog, "/dev/log"},
    {"journald", LogTarget::kJournald, "/run/systemd/journal/socket"},
});

}  // namespace

std::optional<int> syslog_facility_named(std::string_view name) {
  for (const Facility& facility : kFacilities) {
    if (std::ranges::equal(facility.name, name, {}, {}, ascii_lower)) return facility.number;
  }
  return std::nullopt;
}

std::string_view syslog_facility_name(int facility) {
  const auto found = std::ranges::find(kFacilities, facility, &Facility::number);
  return found == kFacilities.end() ? "daemon" : found->name;
}

std::string log_target_of(const LogOptions& options) {
  if (options.target == LogTarget::kStderr) return "stderr";
  if (options.target == LogTarget::kDestination)
    return std::string(kDestinationPrefix).append(options.destination);
  const auto service = std::ranges::find(kServices, options.target, &Service::target);
  if (service == kServices.end()) return options.path;
  if (options.path == service->usual_socket) return std::string(service->word);
  return fmt::format("{}:{}", service->word, options.path);
}

std::optional<std::string_view> destination_in(std::string_view value) {
  if (!value.starts_with(kDestinationPrefix)) return std::nullopt;
  return value.substr(kDestinationPrefix.size());
}

bool is_own_descriptor(std::string_view path) {
  return path == "/dev/stderr" || path == "/dev/stdout" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

Result<void> set_log_target(LogOptions& options, std::string_view value) {
  options.path.clear();
  options.target = LogTarget::kStderr;
  if (value == "stderr") return {};
  if (const auto destination = destination_in(value)) {
    options.target = LogTarget::kDestination;
    options.destination = *destination;
    return {};
  }
  const std::string_view word = value.substr(0, value.find(':'));
  for (const Service& service : kServices) {
    if (service.word != word) continue;
    options.target = service.target;
    options.path =
        word.size() == value.size() ? service.usual_socket : value.substr(word.size() + 1);
    if (!options.path.starts_with('/') || options.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return fail(ErrorCode::kInvalid, "\"{}\" is not an absolute path of a socket",
                  printable(options.path));
    }
    return {};
  }
  if (!value.starts_with('/')) {
    return fail(
        ErrorCode::kInvalid,
        "\"{}\" is neither an absolute path nor stderr, syslog, journald or destination:NAME",
        printable(value));
  }
  options.target = LogTarget::kFile;
  options.path = value;
  return {};
}

}  // namespace quarry::base
