// The services that deliver logs to destinations (error_log, access.log = destination:NAME): one
// quarry-courier per destination, which runs as the courier's user.
//
//   SPOOL_DIRECTORY.logs/error, access.POOL   the FIFO of each log
//   SPOOL_DIRECTORY.logs/NAME.figures         figures of the destination NAME
//   SPOOL_DIRECTORY/log-NAME.*                its queue
//
// The master creates the FIFOs in a folder that belongs to the master's user, and opens them as it
// opens other logs. So a reload, or a restart of a courier, does not lose the lines in them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/log_options.h"
#include "quarry/base/result.h"
#include "quarry/courier/log_courier.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/pages/server_view.h"

namespace quarry::app {

/// A destination of logs.
struct LogDestination {
  std::string name;
  std::vector<courier::ShippedLog> logs;
  // Set by open_log_pipes():
  std::vector<base::Fd> pipes = {};  // keep the FIFOs' lines while no other process has them open
  base::Fd figures = {};             // the file for ShippingFigures
};
using LogDestinations = std::vector<std::shared_ptr<LogDestination>>;

/// Returns the options of the error log of CONFIG, with the path of its FIFO.
base::LogOptions error_log_of(const master::Config& config);
/// Returns the path of POOL's access log or, if its lines go to a destination, of its FIFO.
std::string access_log_path(const master::Config& config, const master::PoolConfig& pool);

/// Creates the FIFOs and the files for the figures of CONFIG's logs, unless they exist, and opens
/// them. Errors: kDenied (somebody else could replace the files), kIo, or the courier's user does
/// not exist.
Result<LogDestinations> open_log_pipes(const master::Config& config);
/// Keeps the FIFOs of DESTINATIONS open when this program executes itself, so that they keep their
/// lines. Returns a text for close_earlier_pipes().
std::string keep_pipes(const LogDestinations& destinations);
/// Closes the FIFOs that keep_pipes() has kept open. KEPT is the result of keep_pipes().
void close_earlier_pipes(std::string_view kept);
/// Checks that the folder of the FIFOs exists or can be created. Errors: kDenied, kIo.
Result<void> check_log_pipes(const master::Config& config);

/// Returns the service for DESTINATION. CONFIG was read from PATH. Errors: the courier's user does
/// not exist.
Result<master::Service> log_service(const master::Config& config, const std::filesystem::path& path,
                                    const std::shared_ptr<LogDestination>& destination);

/// Lets the children of SERVICE read the figures of DESTINATIONS.
void keep_figures(const LogDestinations& destinations, master::Service& service);
/// Returns the figures of DESTINATIONS for the live page.
std::vector<pages::DestinationView> views_of(const LogDestinations& destinations);

}  // namespace quarry::app
