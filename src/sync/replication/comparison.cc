// The functions of Replication that compare this host's repository with that of another host.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "entry_application.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/sync/replication.h"

namespace quarry::sync {

using artifact::HashName;
using repository::ChangedRow;
using repository::Receipt;

namespace {

constexpr std::string_view kPrivateMark = " private";
// Number of hex digits by which names are grouped.
constexpr std::size_t kBucketDigits = 2;

std::string line_of(std::string_view name, bool is_private) {
  return fmt::format("{}{}\n", name, is_private ? kPrivateMark : "");
}

/// Returns "TABLE KEY".
std::string place_of(const ChangedRow& row) {
  return fmt::format("{} {}", row.table, artifact::fossilize(row.key));
}

/// Which of two versions of a row is the newer one, on all hosts.
using Version = std::pair<std::int64_t, std::string>;

/// Returns the versions of ROWS by their places.
std::map<std::string, Version> versions_of(const std::vector<ChangedRow>& rows) {
  std::map<std::string, Version> versions;
  for (const ChangedRow& row : rows) {
    Version version{row.mtime, artifact::sha3_256_hex(row.digest)};
    Version& known = versions[place_of(row)];
    known = std::max(known, version);
  }
  return versions;
}

std::map<std::string, Version> parse_versions(std::string_view lines) {
  std::map<std::string, Version> versions;
  while (!lines.empty()) {
    const auto words = base::split_words(base::take_until(lines, '\n'), " ");
    if (words.size() != 4) continue;
    const auto mtime = base::parse_number<std::int64_t>(words[2]);
    if (mtime) versions[words[0] + ' ' + words[1]] = {*mtime, words[3]};
  }
  return versions;
}

}  // namespace

Result<Replication::Contents> Replication::contents() {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  Contents contents;
  std::string prefix;
  std::string names;
  const auto end_bucket = [&] {
    if (!names.empty()) contents.buckets[prefix] = artifact::sha3_256_hex(names);
    names.clear();
  };
  QUARRY_TRY(tables_.visit_names("", "", [&](std::string_view name, bool is_private) {
    if (!name.starts_with(prefix) || prefix.empty()) {
      end_bucket();
      prefix = name.substr(0, kBucketDigits);
    }
    ++contents.artifacts;
    names += line_of(name, is_private);
    return true;
  }));
  end_bucket();
  std::string digests;
  for (const auto& [first, digest] : contents.buckets) digests += digest;
  contents.digest = artifact::sha3_256_hex(digests);
  QUARRY_TRY_ASSIGN(const auto rows, tables_.rows());
  std::string text;
  for (const auto& [place, version] : versions_of(rows)) {
    text += fmt::format("{} {}\n", place, version.second);
  }
  contents.rows = artifact::sha3_256_hex(text);
  return contents;
}

Result<std::string> Replication::names(std::string_view prefix, std::string_view after,
                                       std::size_t max) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  std::string names;
  QUARRY_TRY(tables_.visit_names(prefix, after, [&](std::string_view name, bool is_private) {
    const std::string line = line_of(name, is_private);
    if (names.size() + line.size() > max) return false;
    names += line;
    return true;
  }));
  return names;
}

Result<std::string> Replication::rows(std::string_view after, std::size_t max) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  QUARRY_TRY_ASSIGN(const auto rows, tables_.rows());
  std::string text;
  const auto versions = versions_of(rows);
  for (auto each = versions.upper_bound(std::string(after)); each != versions.end(); ++each) {
    const std::string line =
        fmt::format("{} {} {}\n", each->first, each->second.first, each->second.second);
    if (text.size() + line.size() > max) break;
    text += line;
  }
  return text;
}

Result<std::size_t> Replication::want_missing(std::string_view names, std::size_t count) {
  std::string cards;
  std::size_t found = 0;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    while (!names.empty() && found < count) {
      std::string_view line = base::take_until(names, '\n');
      const auto name = HashName::parse(base::take_until(line, ' '));
      if (!name || repository_.is_shunned(*name)) continue;
      const auto info = repository_.find(*name);
      const bool has = info && !info->is_phantom() && !repository_.is_waiting(info->rid);
      const bool is_published = has && line.empty() && repository_.is_private(info->rid);
      if (has && !is_published) continue;
      cards += fmt::format("{} {}\n", has ? "publish" : "want", name->str());
      ++found;
    }
  }
  if (found == 0) return 0;
  QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive());
  QUARRY_TRY(tables_.queue(cards));
  QUARRY_TRY(receipt.commit());
  return found;
}

Result<Replication::Difference> Replication::difference(std::string_view rows) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  QUARRY_TRY_ASSIGN(const auto own_rows, tables_.rows());
  const auto own = versions_of(own_rows);
  const auto theirs = parse_versions(rows);
  Difference difference;
  for (const auto& [place, version] : own) {
    const auto other = theirs.find(place);
    if (other != theirs.end() && other->second.second == version.second) continue;
    difference.rows.push_back(place);
    if (other == theirs.end() || other->second < version) difference.newer.push_back(place);
  }
  for (const auto& [place, version] : theirs) {
    if (!own.contains(place)) difference.rows.push_back(place);
  }
  return difference;
}

Result<void> Replication::publish_rows(const std::vector<std::string>& places) {
  QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive());
  std::map<std::string, ChangedRow> missing;
  for (std::string_view place : places) {
    ChangedRow row{.table = std::string(base::take_until(place, ' ')),
                   .key = artifact::defossilize(place)};
    QUARRY_TRY(tables_.forget(row.table, row.key));
    missing.emplace(place_of(row), std::move(row));
  }
  QUARRY_TRY_ASSIGN(auto rows, tables_.changed_rows());
  for (const ChangedRow& row : rows) missing.erase(place_of(row));
  // A row that does not exist here becomes a `remove` card.
  for (auto& [place, row] : missing) rows.push_back(std::move(row));
  QUARRY_TRY(queue_changes(repository_, tables_, rows, max_entry_));
  return commit(receipt, true);
}

}  // namespace quarry::sync
