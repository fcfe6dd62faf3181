// An entry of the stream: what one host publishes about one repository. An entry that is larger than
// a message is published in parts, one message for each part.
//
//   quarry 1 HOST ENTRY PART PARTS\n      then a part of the content
//
// ENTRY is the SHA3-256 of project, host and content in hex digits. The content is defined by
// sync/replication.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/replica/stream.h"

namespace quarry::replica {

/// Returns the messages for CONTENT of HOST about PROJECT, each with at most MAX bytes. The id of a
/// message is a digest of its project and its whole content, so a repeated entry has the same ids.
std::vector<NewStreamMessage> messages_of(std::string_view project, std::string_view host,
                                          std::string_view content, std::size_t max);

struct Entry {
  std::uint64_t sequence = 0;  // of the message with the last part
  std::string project;
  std::string host;
  std::string content;
};

/// Assembles entries from messages in stream order.
class EntryReader {
 public:
  /// MAX_CONTENT limits the size of an entry and of all incomplete entries together, in bytes.
  explicit EntryReader(std::size_t max_content) : max_content_(max_content) {}

  /// Adds MESSAGE. Returns the entry if MESSAGE completes it. An incomplete entry is discarded when
  /// its host begins another entry about the project. Errors: kInvalid (malformed), kLimit; the
  /// message is then skipped.
  Result<std::optional<Entry>> add(StreamMessage&& message);

  /// Returns the sequence before which all messages belong to complete or discarded entries:
  /// reading must start after it if this process ends. LAST is the sequence of the last added message.
  std::uint64_t safe_position(std::uint64_t last) const;

 private:
  struct Partial {
    std::uint64_t first = 0;  // sequence of the message with part 1
    std::string id;
    std::size_t next_part = 1;
    std::string content;
  };
  std::size_t max_content_;
  std::map<std::pair<std::string, std::string>, Partial> partials_;  // by project and host
};

}  // namespace quarry::replica
