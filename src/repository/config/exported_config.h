// The settings that are exchanged, for sending.
#pragma once

#include <span>
#include <string_view>

#include "quarry/repository/configuration.h"

namespace quarry::repository {

struct ExportedSetting {
  std::string_view name;
  ConfigAreas areas;
};

/// In the order in which Fossil sends them.
std::span<const ExportedSetting> exported_settings();

}  // namespace quarry::repository
