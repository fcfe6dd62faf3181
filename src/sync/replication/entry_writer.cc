#include "entry_writer.h"

#include <utility>

#include "entry_cards.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/time.h"

namespace quarry::sync {

using repository::ChangedRow;
using repository::PublishedArtifacts;
using repository::Rid;
using repository::UnpublishedArtifact;
using repository::UnpublishedReceipt;

namespace {

std::string word(std::string_view text) {
  return text.empty() ? "-" : artifact::fossilize(text);
}

void write_unversioned(repository::Repository& repository, const std::string& name,
                       CardWriter& writer) {
  const auto file = repository.unversioned().find(name);
  if (!file) return;
  if (!file->hash) return writer.uvfile_deleted(name, file->mtime);
  const auto content = repository.unversioned().content(name);
  if (!content) {
    base::log(base::LogLevel::kError, "{}: cannot publish the unversioned file {}: {}",
              repository.path().string(), base::printable(name), content.error().message);
    return;
  }
  writer.uvfile(name, file->mtime, *file->hash, *content);
}

void write_row(repository::Repository& repository, const ChangedRow& row, CardWriter& writer) {
  if (row.table == "private") {
    writer.card({"publish", row.key});
  } else if (row.digest.empty()) {
    writer.card({"remove", "/" + row.table, artifact::fossilize(row.key)});
  } else if (row.table == "unversioned") {
    return write_unversioned(repository, row.key, writer);
  } else {
    writer.config("/" + row.table, row.content);
  }
}

}  // namespace

std::vector<std::string> change_cards(repository::Repository& repository,
                                      const std::vector<ChangedRow>& rows, std::size_t max_entry) {
  std::vector<std::string> entries;
  CardWriter writer;
  for (const ChangedRow& row : rows) {
    CardWriter card;
    write_row(repository, row, card);
    if (card.size() == 0) continue;
    // A row that cannot be in a card, such as one with an empty key, must not spoil the entry.
    if (const auto parsed = parse_entry("change 0\n" + card.payload()); !parsed) {
      base::log(base::LogLevel::kError, "{}: cannot publish the row {} of {}: {}",
                repository.path().string(), base::printable(row.key), row.table,
                parsed.error().message);
      continue;
    }
    if (writer.size() > 0 && writer.size() + card.size() > max_entry) {
      entries.push_back(std::exchange(writer, {}).take());
    }
    writer.payload() += card.take();
  }
  if (writer.size() > 0) entries.push_back(writer.take());
  return entries;
}

void ArtifactEntries::begin(const UnpublishedReceipt& receipt) {
  writer_ = {};
  has_artifacts_ = false;
  const std::string time = std::to_string(receipt.time.value);
  if (!receipt.is_late) {
    writer_.card({"from", time, word(receipt.login), word(receipt.address)});
  } else {
    // The artifact might have been published minutes ago. NATS drops an entry with the same content.
    const std::string now = std::to_string(base::system_clock().now().value);
    writer_.card({"from", time, word(receipt.login), word(receipt.address), now});
  }
}

void ArtifactEntries::write(const UnpublishedArtifact& artifact) {
  if (artifact.is_private) {
    writer_.private_next();
    progress_.as_private.push_back(artifact.rid);
  }
  writer_.cfile(artifact.name.str(), artifact.source ? artifact.source->str() : std::string_view(),
                static_cast<std::uint64_t>(artifact.size), artifact.stored.size());
  writer_.payload() += artifact.stored;
  writer_.end_cfile();
  has_artifacts_ = true;
}

/// Ends the current entry. LAST is the last artifact of RECEIPT that was visited.
Result<void> ArtifactEntries::end(const UnpublishedReceipt& receipt, Rid last) {
  if (receipt.is_late) {
    progress_.finished.push_back(receipt.last);
  } else {
    QUARRY_TRY_ASSIGN(const std::int64_t artifacts, tables_.count(receipt.receipt, last));
    progress_.parts.push_back({receipt.receipt, last, artifacts});
  }
  if (has_artifacts_) {
    entries_.push_back({.content = writer_.take(), .artifacts = std::exchange(progress_, {})});
  }
  return {};
}

Result<void> ArtifactEntries::add(const UnpublishedReceipt& receipt) {
  Rid after = receipt.after;
  while (!is_full()) {
    begin(receipt);
    bool is_whole = true;
    const auto visit = [&](const UnpublishedArtifact& artifact) {
      is_whole = !has_artifacts_ || writer_.size() + artifact.stored.size() <= max_entry_;
      if (is_whole) write(artifact);
      return is_whole;
    };
    UnpublishedReceipt remaining = receipt;
    remaining.after = after;
    QUARRY_TRY_ASSIGN(after, tables_.visit_unpublished(remaining, progress_.deferred, visit));
    QUARRY_TRY(end(receipt, after));
    if (is_whole) break;
  }
  return {};
}

}  // namespace quarry::sync
