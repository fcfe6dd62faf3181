// The settings and tables that are exchanged.
#pragma once

#include <algorithm>
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

/// Returns the names of the settings that only the hosts of a group exchange, so that only one of them
/// sends daily digests and notices of subscriptions that expire.
std::span<const std::string_view> group_settings();

constexpr bool is_in(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

/// A table whose rows are exchanged in cards. KEY is the column with the key of a row, and COLUMNS
/// are the other columns in a card. Only the hosts of a group exchange GROUP_COLUMNS.
struct ConfigTable {
  std::string_view name;
  std::string_view key;
  std::array<std::string_view, 6> columns;
  std::array<std::string_view, 2> group_columns = {};
};

inline constexpr std::array kConfigTables = {
    ConfigTable{"config", "name", {"value"}},
    ConfigTable{"user", "login", {"pw", "cap", "info", "photo", "jx"}},
    ConfigTable{"shun", "uuid", {"scom"}},
    ConfigTable{"reportfmt", "title", {"owner", "cols", "sqlcode", "jx"}},
    ConfigTable{"concealed", "hash", {"content"}},
    ConfigTable{"subscriber",
                "semail",
                {"suname", "sdigest", "sdonotcall", "ssub", "sctime", "smip"},
                {"subscriberCode", "lastContact"}},
};

}  // namespace quarry::repository
