// The directives of [courier] and [destination NAME]. quarryd uses them to check the configuration
// and to start the courier. The courier itself and `quarry courier` use them, too. Each directive
// is defined in one place, with its type and its field. The default is the initial value of the
// field.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quarry/courier/options.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// Returns a new options object for the section NAME, or null if the section does not configure the
/// courier.
std::shared_ptr<master::CarriedOptions> courier_section(const std::string& name);
/// Returns the options in CONFIG's sections, or nullopt if CONFIG does not have a [courier]
/// section.
std::optional<courier::CourierConfig> courier_config_in(const master::Config& config);
/// Returns the folder that has a subfolder of waiting hooks for each pool. This folder must belong
/// to the master's user. Therefore, it is not inside the courier's own folder, but beside it.
std::filesystem::path hooks_directory(const courier::CourierOptions& options);
/// Returns the folder of the FIFOs of logs that go to destinations (quarryd/log_service.h). It is
/// beside the courier's own folder for the same reason.
std::filesystem::path logs_directory(const courier::CourierOptions& options);
/// Returns the name of POOL as a part of file names.
std::string file_name_of_pool(const std::string& pool);
/// Returns the path of the socket of the courier that runs POOL's hooks.
std::string hooks_socket(const courier::CourierOptions& options, const std::string& pool);
/// Returns whether CONFIG has a courier that runs the hooks of repositories.
bool runs_hooks(const master::Config& config);
/// Returns whether any destination in CONFIG sends mail to the submitters of change sets.
bool writes_to_submitters(const master::Config& config);
/// Returns the errors that depend on more than one section, each as "FILE:LINE: …".
std::vector<std::string> courier_mistakes(const master::Config& config);

/// The courier's part of the configuration file, or all mistakes in it.
struct CourierReading {
  courier::CourierConfig config;         // valid only without mistakes
  std::set<std::string> other_sections;  // names of sections that do not configure the courier
  std::vector<std::string> mistakes;
};
CourierReading read_courier_config(const std::filesystem::path& path);

}  // namespace quarry::app
