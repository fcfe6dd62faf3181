// The settings that travel, for those who send them.
#pragma once

#include <span>
#include <string_view>

#include "quarry/repository/configuration.h"

namespace quarry::repository {

struct ExportedSetting {
  std::string_view name;
  ConfigAreas areas;
};

/// In Fossil's order, in which they are sent.
std::span<const ExportedSetting> exported_settings();

}  // namespace quarry::repository
