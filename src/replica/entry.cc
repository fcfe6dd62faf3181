#include "quarry/replica/entry.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "quarry/artifact/running_digest.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::replica {
namespace {

constexpr std::string_view kMagic = "quarry 1";
constexpr std::size_t kMaxHeader = 400;  // of a message; a host's name has at most 255 bytes
constexpr std::int64_t kMaxIdle = std::chrono::milliseconds(std::chrono::hours(1)).count();

std::string digest_of(std::string_view project, std::string_view host, std::string_view content) {
  auto digest = artifact::RunningDigest::sha3_256();
  digest.add(project);
  digest.add("\n");
  digest.add(host);
  digest.add("\n");
  digest.add(content);
  return digest.hex();
}

struct Header {
  std::string_view host, entry;
  std::size_t part = 0, parts = 0;
};

/// Removes the first line from TEXT and returns its fields, or nullopt if it is malformed.
std::optional<Header> take_header(std::string_view& text) {
  if (text.substr(0, kMaxHeader).find('\n') == std::string_view::npos) return std::nullopt;
  std::string_view line = base::take_until(text, '\n');
  if (!line.starts_with(kMagic) || line.substr(kMagic.size(), 1) != " ") return std::nullopt;
  line.remove_prefix(kMagic.size() + 1);
  Header header;
  header.host = base::take_until(line, ' ');
  header.entry = base::take_until(line, ' ');
  const auto part = base::parse_number<std::size_t>(base::take_until(line, ' '));
  const auto parts = base::parse_number<std::size_t>(line);
  if (header.host.empty() || header.entry.size() != 64 || !part || !parts || *part < 1 ||
      *part > *parts)
    return std::nullopt;
  header.part = *part;
  header.parts = *parts;
  return header;
}

}  // namespace

std::vector<NewStreamMessage> messages_of(std::string_view project, std::string_view host,
                                          std::string_view content, std::size_t max) {
  const std::string entry = digest_of(project, host, content);
  const std::size_t size = max - std::min(max / 2, kMaxHeader);
  const std::size_t parts = std::max<std::size_t>(1, (content.size() + size - 1) / size);
  std::vector<NewStreamMessage> messages;
  messages.reserve(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    std::string text = fmt::format("{} {} {} {} {}\n", kMagic, host, entry, i + 1, parts);
    // ENTRY is a digest of the whole content, so the bytes of the part are not hashed again.
    std::string id = digest_of(project, host, fmt::format("{}{}", text, size));
    text += content.substr(i * size, size);
    messages.push_back({std::string(project), std::move(id), std::move(text)});
  }
  return messages;
}

EntryReader::Partials::iterator EntryReader::discard(Partials::iterator partial) {
  size_ -= partial->second.size;
  return partials_.erase(partial);
}

void EntryReader::discard_idle(base::UnixMillis now) {
  for (auto partial = partials_.begin(); partial != partials_.end();)
    partial =
        now.value - partial->second.latest.value > kMaxIdle ? discard(partial) : std::next(partial);
}

Result<std::optional<Entry>> EntryReader::add(StreamMessage&& message) {
  discard_idle(message.stored);
  std::string_view text = message.content;
  const auto header = take_header(text);
  if (!header)
    return fail(ErrorCode::kInvalid, "message {} of the stream is malformed", message.sequence);

  auto partial = partials_.try_emplace(std::string(header->entry)).first;
  Partial& entry = partial->second;
  if (entry.parts.empty()) {
    entry.first = message.sequence;
    entry.count = header->parts;
  }
  entry.latest = message.stored;
  if (entry.count != header->parts) {
    discard(partial);
    return fail(ErrorCode::kInvalid, "message {} of the stream has a wrong number of parts",
                message.sequence);
  }
  if (!entry.parts.contains(header->part)) {
    if (entry.size + text.size() > max_content_) {
      discard(partial);
      return fail(ErrorCode::kLimit, "message {} of the stream: an entry is larger than {} bytes",
                  message.sequence, max_content_);
    }
    entry.size += text.size();
    size_ += text.size();
    entry.parts.emplace(header->part, text);
  }
  while (size_ > max_content_) {
    auto idle = partials_.end();
    for (auto other = partials_.begin(); other != partials_.end(); ++other)
      if (other != partial &&
          (idle == partials_.end() || other->second.latest < idle->second.latest))
        idle = other;
    base::log(base::LogLevel::kWarning,
              "discarded the incomplete entry that begins with message {} of the stream, because "
              "incomplete entries exceed {} bytes",
              idle->second.first, max_content_);
    discard(idle);
  }
  if (entry.parts.size() < entry.count) return std::nullopt;

  Entry complete{message.sequence, message.project, std::string(header->host), {}, message.stored};
  complete.content.reserve(entry.size);
  for (const auto& [number, part] : entry.parts) complete.content += part;
  const bool is_intact =
      digest_of(complete.project, complete.host, complete.content) == header->entry;
  discard(partial);
  if (!is_intact)
    return fail(ErrorCode::kInvalid, "the entry of message {} of the stream has a wrong digest",
                message.sequence);
  return complete;
}

std::uint64_t EntryReader::safe_position(std::uint64_t last) const {
  for (const auto& [id, partial] : partials_) last = std::min(last, partial.first - 1);
  return last;
}

}  // namespace quarry::replica
