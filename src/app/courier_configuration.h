// The words of [courier] and [destination NAME]: for quarryd, which checks them and starts the
// courier; for the courier itself; and for `quarry courier`, which asks it.
//
// Each word is written once: with its kind of value and where it goes; its default is there.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/courier/courier_config.h"
#include "quarry/master/config.h"

namespace quarry::app {

/// What the words of the section called NAME go into; null: it is none of the courier's.
std::shared_ptr<master::CarriedOptions> courier_section(const std::string& name);
/// What the sections of CONFIG say; nothing: there is no [courier].
std::optional<courier::CourierConfig> courier_config_in(const master::Config& config);
/// Whether one of the destinations in CONFIG writes to who submitted a change set.
bool writes_to_submitters(const master::Config& config);
/// What is wrong between the sections, "FILE:LINE: …" each.
std::vector<std::string> courier_mistakes(const master::Config& config);

/// The courier's part of the configuration file, or all that is wrong with it.
struct CourierReading {
  courier::CourierConfig config;  // only to be used when there is no mistake
  std::vector<std::string> mistakes;
};
CourierReading read_courier_config(const std::filesystem::path& path);

}  // namespace quarry::app
