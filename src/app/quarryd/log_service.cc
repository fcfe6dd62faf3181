#include "log_service.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "courier_configuration.h"
#include "courier_service.h"
#include "hooks_service.h"
#include "page_sources.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/courier/shipping_figures.h"

namespace quarry::app {
namespace {

constexpr const char* kFolder = "folder of log pipes";
constexpr int kPipeSize = 4 << 20;
// The default maximum for unprivileged processes (fs.pipe-max-size).
constexpr int kUnprivilegedPipeSize = 1 << 20;

std::filesystem::path log_file(const master::Config& config, const std::string& name) {
  return logs_directory(courier_config_in(config)->options) / name;
}

std::string pipe_of(const master::Config& config, const master::PoolConfig& pool) {
  return log_file(config, courier::kAccessLogPrefix + file_name_of_pool(pool.name));
}

/// Returns the destinations of the logs in CONFIG, without descriptors.
LogDestinations destinations_in(const master::Config& config) {
  LogDestinations found;
  const auto add = [&](const std::string& destination, const std::string& log,
                       const std::string& pipe) {
    const auto at =
        std::ranges::find(found, destination, [](const auto& one) { return one->name; });
    const auto& one = at != found.end() ? *at
                                        : found.emplace_back(std::make_shared<LogDestination>(
                                              LogDestination{.name = destination, .logs = {}}));
    one->logs.push_back({log, pipe});
  };
  const base::LogOptions& log = config.global.log;
  if (log.target == base::LogTarget::kDestination) {
    add(log.destination, courier::kErrorLog, error_log_of(config).path);
  }
  for (const master::PoolConfig& pool : config.pools) {
    if (const auto destination = base::destination_in(pool.access.path)) {
      add(std::string(*destination), courier::kAccessLogPrefix + file_name_of_pool(pool.name),
          pipe_of(config, pool));
    }
  }
  return found;
}

/// Opens the file NAME in FOLDER, which has the TYPE S_IFIFO or S_IFREG. If it does not exist,
/// creates it for USER. Errors: kDenied (it has another type or owner), kIo.
Result<base::Fd> open_file_of(const std::optional<master::Credentials>& user,
                              const base::Fd& folder, const std::string& name, mode_t type) {
  constexpr mode_t kMode = 0600;
  const bool is_made = ::mknodat(folder.get(), name.c_str(), type | kMode, 0) == 0;
  if (!is_made && errno != EEXIST) return fail_errno("cannot create {}", name);
  base::Fd file(
      ::openat(folder.get(), name.c_str(),
               (type == S_IFIFO ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_errno("cannot open {}", name);
  if (is_made && user && ::fchown(file.get(), user->uid, user->gid) != 0) {
    return fail_errno("cannot change the owner of {}", name);
  }
  const uid_t wanted = user ? user->uid : ::geteuid();
  if ((status.st_mode & S_IFMT) == type && (is_made || status.st_uid == wanted)) return file;
  return fail(ErrorCode::kDenied, "{} is not a {} that user {} owns; remove it", name,
              type == S_IFIFO ? "FIFO" : "file", wanted);
}

Result<void> open_files(const std::optional<master::Credentials>& user, const base::Fd& folder,
                        LogDestination& destination) {
  for (const courier::ShippedLog& log : destination.logs) {
    const std::string name = std::filesystem::path(log.pipe).filename();
    QUARRY_TRY_ASSIGN(auto pipe, open_file_of(user, folder, name, S_IFIFO));
    // A smaller pipe works, too, but loses lines earlier.
    for (const int size : {kPipeSize, kUnprivilegedPipeSize}) {
      if (::fcntl(pipe.get(), F_SETPIPE_SZ, size) >= 0) break;
    }
    destination.pipes.push_back(std::move(pipe));
  }
  QUARRY_TRY_ASSIGN(destination.figures,
                    open_file_of(user, folder, destination.name + ".figures", S_IFREG));
  return {};
}

/// Returns the arguments of the program that delivers the logs of DESTINATION.
std::vector<std::string> arguments_of(const master::Config& config,
                                      const std::filesystem::path& path,
                                      const LogDestination& destination) {
  std::vector<std::string> words = {"quarry-courier", "--config", path.string(), "--logs",
                                    destination.name};
  for (const courier::ShippedLog& log : destination.logs) {
    words.insert(words.end(), {"--log", log.name + "=" + log.pipe});
  }
  words.insert(words.end(),
               {"--figures", log_file(config, destination.name + ".figures").string()});
  return words;
}

}  // namespace

base::LogOptions error_log_of(const master::Config& config) {
  base::LogOptions log = config.global.log;
  if (log.target == base::LogTarget::kDestination) log.path = log_file(config, courier::kErrorLog);
  return log;
}

std::string access_log_path(const master::Config& config, const master::PoolConfig& pool) {
  return base::destination_in(pool.access.path) ? pipe_of(config, pool) : pool.access.path;
}

Result<LogDestinations> open_log_pipes(const master::Config& config) {
  LogDestinations destinations = destinations_in(config);
  if (destinations.empty()) return destinations;
  QUARRY_TRY_ASSIGN(const auto socket, courier_socket(config));
  QUARRY_TRY_ASSIGN(const auto folder,
                    make_own_folder(kFolder, logs_directory(courier_config_in(config)->options)));
  for (const auto& each : destinations) {
    if (auto opened = open_files(socket->runs_as, folder, *each); !opened) {
      return fail(opened.error().code, "destination {}: {}", each->name, opened.error().message);
    }
  }
  return destinations;
}

std::string keep_pipes(const LogDestinations& destinations) {
  std::string kept;
  for (const auto& each : destinations) {
    for (const base::Fd& pipe : each->pipes) {
      ::fcntl(pipe.get(), F_SETFD, 0);
      kept += fmt::format("{} ", pipe.get());
    }
  }
  return kept;
}

void close_earlier_pipes(std::string_view kept) {
  while (!kept.empty()) {
    const auto number = base::parse_number<int>(base::take_until(kept, ' '));
    if (number) ::close(*number);
  }
}

Result<void> check_log_pipes(const master::Config& config) {
  if (destinations_in(config).empty()) return {};
  return check_own_folder(kFolder, logs_directory(courier_config_in(config)->options));
}

Result<master::Service> log_service(const master::Config& config, const std::filesystem::path& path,
                                    const std::shared_ptr<LogDestination>& destination) {
  QUARRY_TRY_ASSIGN(const auto socket, courier_socket(config));
  master::Service service;
  service.name = fmt::format("logs {}", destination->name);
  service.kind = master::ServiceKind::kReceiver;
  service.starts_alone = true;  // only one process can use the queue
  service.processes.max_children = 1;
  service.process = courier_process(*courier_config_in(config));
  service.run_as = socket->runs_as;
  // If this process delivers the error log, its own lines must not get into the error log.
  const bool is_error_log_shipped = config.global.log.target == base::LogTarget::kDestination;
  service.process.catch_output = !is_error_log_shipped;
  service.keeps_standard_error = is_error_log_shipped;
  service.program = master::Program{program_beside("quarry-courier", QUARRY_SERVER_FOLDER),
                                    arguments_of(config, path, *destination)};
  service.figures = [destination] {
    const auto now = courier::read_shipping_figures(destination->figures.get())
                         .value_or(courier::ShippingFigures());
    return master::ServiceFigures{
        .name = "log delivery",
        .about = std::string(now.last_error()),
        .numbers = {{"in memory", now.queued},
                    {"on disk", now.on_disk},
                    {"bytes on disk", now.disk_bytes},
                    {"delivered", now.delivered},
                    {"rejected", now.rejected},
                    {"lost", now.lost},
                    {"last error time", static_cast<std::uint64_t>(now.failed_at)}}};
  };
  return service;
}

void keep_figures(const LogDestinations& destinations, master::Service& service) {
  for (const auto& each : destinations) service.kept_descriptors.push_back(each->figures.get());
}

std::vector<pages::DestinationView> views_of(const LogDestinations& destinations) {
  std::vector<pages::DestinationView> views;
  for (const auto& each : destinations) {
    const auto now = courier::read_shipping_figures(each->figures.get());
    if (!now) continue;
    pages::DestinationView view{.name = each->name,
                                .waiting = now->queued + now->on_disk,
                                .delivered = now->delivered,
                                .dead = now->rejected + now->lost,
                                .oldest = std::nullopt,
                                .last_error = own_words(now->last_error()),
                                .last_error_age = std::nullopt};
    if (now->failed_at > 0) view.last_error_age = (std::time(nullptr) - now->failed_at) * 1000;
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace quarry::app
