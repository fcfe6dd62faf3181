// The settings and users that repositories exchange, and their format.
//
//   config /TABLE SIZE        content:   MTIME 'KEY' COLUMN VALUE COLUMN VALUE …
//
// TABLE is `config` (settings), `user`, `shun`, `reportfmt`, `concealed` or `subscriber`; MTIME is
// in seconds since 1970; KEY and VALUE are SQL literals: 'text' (with '' for '), x'hex', integers,
// NULL. The values are parsed and bound as parameters; they are never executed as SQL. If two rows
// have the same key, the row with the later MTIME is kept. Only rows that belong to an area, such
// as `skin` or `ticket`, are exchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::repository {

/// The areas of `fossil configuration`, as bits.
using ConfigAreas = std::uint32_t;
inline constexpr ConfigAreas kConfigEmail = 1 << 0;
inline constexpr ConfigAreas kConfigProject = 1 << 1;
inline constexpr ConfigAreas kConfigSkin = 1 << 2;
inline constexpr ConfigAreas kConfigCss = 1 << 3;
inline constexpr ConfigAreas kConfigShun = 1 << 4;
inline constexpr ConfigAreas kConfigTicket = 1 << 5;
inline constexpr ConfigAreas kConfigUser = 1 << 6;
inline constexpr ConfigAreas kConfigXfer = 1 << 7;
inline constexpr ConfigAreas kConfigAlias = 1 << 8;
inline constexpr ConfigAreas kConfigSubscriber = 1 << 9;
inline constexpr ConfigAreas kConfigInterwiki = 1 << 10;
inline constexpr ConfigAreas kConfigAll = (1 << 11) - 1;

/// Returns the areas for NAME, an area name or its beginning, without the slash. If several area
/// names begin with NAME, the first one in Fossil's order is used. Returns 0 if no area name begins
/// with NAME.
ConfigAreas config_areas(std::string_view name);
/// Returns the areas to which the row NAME of `config` belongs, or 0 if the row is never exchanged.
ConfigAreas areas_of_setting(std::string_view name);

struct SqlLiteral {
  enum class Kind : std::uint8_t { kNull, kInteger, kText, kBlob };
  Kind kind = Kind::kNull;
  std::int64_t integer = 0;
  std::string bytes = {};  // content of texts and blobs
};

struct ConfigRecord {
  std::string table = {};                  // without the slash
  std::optional<std::int64_t> mtime = {};  // nullopt: a row that is not exchanged with peers
  std::string key = {};
  std::vector<std::pair<std::string, SqlLiteral>> columns = {};
};

/// Parses CONTENT of the card `config NAME` (NAME includes the slash). Returns nullopt if NAME or
/// CONTENT is malformed. Leaves out columns that the table does not have. MTIME can be NULL only
/// if TAKES_NO_TIME is true.
std::optional<ConfigRecord> parse_config_record(std::string_view name, std::string_view content,
                                                bool takes_no_time = false);

/// Called with the NAME (including the slash) and the CONTENT of a card.
using ConfigVisitor = std::function<void(std::string_view name, std::string_view content)>;

}  // namespace quarry::repository
