// Checks of card arguments.
#pragma once

#include <optional>
#include <string_view>

#include "quarry/base/time.h"

namespace quarry::artifact {

/// Returns whether TEXT has the form of a hash: 40 or 64 hex digits, in upper or lower case.
bool is_hash(std::string_view text);

/// Returns whether TITLE is a valid title of a wiki page: 1 to 100 bytes, no control characters,
/// and only single spaces between other characters.
bool is_wiki_title(std::string_view title);

/// Parses the time in a D or E card. Returns nullopt if the time is invalid. Fossil parses such
/// times with julianday() of SQLite. This function accepts the same text as julianday(), except
/// "now":
///
///   [-]YYYY-MM-DD[(T| )HH:MM[:SS[.fraction]][Z|(+|-)HH:MM]]    a date, with or without a time
///   HH:MM…                                                     a time on 2000-01-01
///   a decimal number                                           a Julian day
///
/// The time must be after the Julian day 0 and before the year 10000.
std::optional<base::UnixMillis> parse_card_date(std::string_view text);

}  // namespace quarry::artifact
