// The settings and tables that are exchanged.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "quarry/repository/configuration.h"

namespace quarry::repository {

/// The names of settings that all belong to the same areas of the configuration.
struct SettingGroup {
  ConfigAreas areas;
  std::span<const std::string_view> names;
};

/// Returns the groups, in the order in which Fossil sends them.
std::span<const SettingGroup> exported_settings();

/// A table whose rows are exchanged in cards. KEY is the column with the key of a row, and COLUMNS
/// are the other columns in a card.
struct ConfigTable {
  std::string_view name;
  std::string_view key;
  std::array<std::string_view, 6> columns;
};

inline constexpr std::array kConfigTables = {
    ConfigTable{"config", "name", {"value"}},
    ConfigTable{"user", "login", {"pw", "cap", "info", "photo", "jx"}},
    ConfigTable{"shun", "uuid", {"scom"}},
    ConfigTable{"reportfmt", "title", {"owner", "cols", "sqlcode", "jx"}},
    ConfigTable{"concealed", "hash", {"content"}},
    ConfigTable{
        "subscriber", "semail", {"suname", "sdigest", "sdonotcall", "ssub", "sctime", "smip"}},
};

}  // namespace quarry::repository
