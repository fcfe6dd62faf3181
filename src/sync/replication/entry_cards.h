// Reads entries of the stream. See quarry/sync/replication.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/configuration.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/unversioned.h"

namespace quarry::sync {

/// A `remove` card.
struct RemovedRow {
  std::string table;
  std::string key;
};

/// A `publish` card.
struct PublishedName {
  artifact::HashName name;
};

/// A `want` card.
struct WantedName {
  artifact::HashName name;
};

/// A `digested` card.
struct DigestedName {
  artifact::HashName name;
};

using EntryItem =
    std::variant<repository::Arrival, repository::ConfigRecord, repository::UnversionedArrival,
                 RemovedRow, PublishedName, WantedName, DigestedName>;

/// The parsed content of an entry. Has views into the content.
struct ParsedEntry {
  bool is_change = false;   // not artifacts
  std::int64_t number = 0;  // of a change
  base::UnixMillis time = {};
  std::string login;  // empty if unknown
  std::string address;
  std::vector<EntryItem> items;
};

/// Error: kInvalid.
Result<ParsedEntry> parse_entry(std::string_view content);

}  // namespace quarry::sync
