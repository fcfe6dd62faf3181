// Converts cards with content into arguments for the repository:
//
//   file   NAME [SOURCE] SIZE             an artifact: its content, or a delta on SOURCE
//   cfile  NAME [SOURCE] SIZE SIZE'       an artifact in blob format; SIZE is the expanded size
//   uvfile NAME MTIME HASH SIZE FLAGS     an unversioned file
//
// Used by the server and the client.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "card_reader.h"
#include "quarry/base/result.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/unversioned.h"

namespace quarry::sync {

/// Converts the current card of CARD. The result refers to the payload of the card. Error: kInvalid
/// (malformed).
Result<repository::Arrival> arrival_of(const CardReader& card, bool is_private);
/// Like arrival_of(), but for a `uvfile` card.
Result<repository::UnversionedArrival> unversioned_arrival_of(const CardReader& card);

/// The value that a deleted file has instead of a hash.
inline constexpr std::string_view kDeletedHash = "-";

/// Returns whether NAME is valid in a card: a relative path in UTF-8 without "..", backslashes and
/// empty parts.
bool is_unversioned_name(std::string_view name);

/// Parses WORD as an mtime in seconds. Returns nullopt if WORD is not valid.
std::optional<std::int64_t> unversioned_time(std::string_view word);
/// Returns whether WORD is a hash or kDeletedHash.
bool is_unversioned_hash(std::string_view word);

}  // namespace quarry::sync
