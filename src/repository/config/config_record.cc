// Parses the content of a `config` card.

#include <algorithm>

#include "exported_config.h"
#include "quarry/base/ascii.h"
#include "quarry/base/hex.h"
#include "quarry/base/number.h"
#include "quarry/repository/configuration.h"

namespace quarry::repository {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

std::optional<std::int64_t> number_in(std::string_view word) {
  return word.starts_with('-') ? std::nullopt : base::parse_number<std::int64_t>(word);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// Returns the next word, or an empty string at the end.
  std::string_view word() {
    skip_space();
    const std::size_t end = std::min(text_.find_first_of(kSpace), text_.size());
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end);
    return found;
  }

  bool at_end() {
    skip_space();
    return text_.empty();
  }

  std::optional<SqlLiteral> literal() {
    skip_space();
    if (text_.starts_with('\'')) return quoted();
    if (text_.starts_with("x'") || text_.starts_with("X'")) {
      text_.remove_prefix(1);
      return blob(quoted());
    }
    return number_or_null(word());
  }

 private:
  void skip_space() {
    text_.remove_prefix(std::min(text_.find_first_not_of(kSpace), text_.size()));
  }

  std::optional<SqlLiteral> quoted() {
    SqlLiteral literal{.kind = SqlLiteral::Kind::kText};
    for (std::size_t i = 1; i < text_.size(); ++i) {
      if (text_[i] == '\0') return std::nullopt;
      if (text_[i] == '\'') {
        if (i + 1 == text_.size() || text_[i + 1] != '\'') {
          text_.remove_prefix(i + 1);
          return literal;
        }
        ++i;
      }
      literal.bytes += text_[i];
    }
    return std::nullopt;
  }

  static std::optional<SqlLiteral> blob(std::optional<SqlLiteral> digits) {
    auto bytes = digits ? base::from_hex(digits->bytes) : std::nullopt;
    if (!bytes) return std::nullopt;
    return SqlLiteral{.kind = SqlLiteral::Kind::kBlob, .bytes = std::move(*bytes)};
  }

  static std::optional<SqlLiteral> number_or_null(std::string_view word) {
    if (std::ranges::equal(word, std::string_view("null"), {}, base::ascii_lower)) {
      return SqlLiteral{};
    }
    const auto number = number_in(word);
    if (!number) return std::nullopt;
    return SqlLiteral{.kind = SqlLiteral::Kind::kInteger, .integer = *number};
  }

  std::string_view text_;
};

}  // namespace

std::optional<ConfigRecord> parse_config_record(std::string_view name, std::string_view content,
                                                bool takes_no_time) {
  if (!name.starts_with('/')) return std::nullopt;
  const auto table = std::ranges::find(kConfigTables, name.substr(1), &ConfigTable::name);
  if (table == kConfigTables.end()) return std::nullopt;
  Reader reader(content);
  ConfigRecord record{.table = std::string(table->name)};
  const std::string_view mtime = reader.word();
  record.mtime = number_in(mtime);
  if (!record.mtime && !(takes_no_time && mtime == "NULL")) return std::nullopt;
  auto key = reader.literal();
  if (!key || key->kind != SqlLiteral::Kind::kText) return std::nullopt;
  record.key = std::move(key->bytes);
  for (std::string_view column = reader.word(); !column.empty(); column = reader.word()) {
    // A last column without a value is ignored.
    if (reader.at_end()) break;
    if (!std::ranges::all_of(column, base::is_ascii_alphanumeric)) return std::nullopt;
    auto value = reader.literal();
    if (!value) return std::nullopt;
    if (!is_in(column, table->columns) && !is_in(column, table->group_columns)) continue;
    if (std::ranges::find(record.columns, column, &decltype(record.columns)::value_type::first) !=
        record.columns.end()) {
      return std::nullopt;
    }
    record.columns.emplace_back(column, std::move(*value));
  }
  return record;
}

}  // namespace quarry::repository
