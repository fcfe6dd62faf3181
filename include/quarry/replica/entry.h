// An entry of the stream: what one host publishes about one repository. An entry that is larger than
// a message is published in parts, one message for each part.
//
//   quarry 1 HOST ENTRY PART PARTS\n      then a part of the content
//
// ENTRY is the SHA3-256 of project, host and content in hex digits; the reader verifies it. The
// content is defined by sync/replication.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/replica/stream.h"

namespace quarry::replica {

/// Returns the messages of the entry CONTENT that HOST publishes about PROJECT. Each has at most MAX
/// bytes; MAX must be at least 1000.
/// The id of a message is a digest that depends on the project, the host, the whole content and the
/// bytes of the part, so a repeated entry has the same ids.
std::vector<NewStreamMessage> messages_of(std::string_view project, std::string_view host,
                                          std::string_view content, std::size_t max);

struct Entry {
  std::uint64_t sequence = 0;  // of the message that completed the entry
  std::string project;
  std::string host;
  std::string content;
  base::UnixMillis stored = {};  // see StreamMessage
};

/// Assembles entries from messages in stream order. Parts can come in any order and repeatedly,
/// because publishers send all parts again if an acknowledgement is missing. An incomplete entry is
/// discarded if none of its parts has arrived for an hour, by the time of the NATS servers.
class EntryReader {
 public:
  /// MAX_CONTENT limits the size of an entry and of all incomplete entries together, in bytes. To
  /// make room, the entry that has waited longest for a part is discarded and logged.
  explicit EntryReader(std::size_t max_content) : max_content_(max_content) {}

  /// Adds MESSAGE. Returns the entry if MESSAGE completes it. Errors: kInvalid (malformed), kLimit;
  /// the message is then skipped, and its entry is discarded.
  Result<std::optional<Entry>> add(StreamMessage&& message);

  /// Returns the sequence up to which all messages belong to complete or discarded entries. The next
  /// process must start reading after it. LAST is the sequence of the last added message.
  std::uint64_t safe_position(std::uint64_t last) const;

 private:
  struct Partial {
    std::uint64_t first = 0;       // sequence of the first message
    base::UnixMillis latest = {};  // when NATS stored the last message
    std::size_t count = 0;         // number of parts
    std::size_t size = 0;          // of all parts that have arrived
    std::map<std::size_t, std::string> parts;
  };
  using Partials = std::map<std::string, Partial, std::less<>>;  // by ENTRY

  Partials::iterator discard(Partials::iterator partial);
  void discard_idle(base::UnixMillis now);

  std::size_t max_content_;
  std::size_t size_ = 0;  // of all incomplete entries
  Partials partials_;
};

}  // namespace quarry::replica
