#include "quarry/http/fastcgi.h"

namespace quarry::http {
namespace {

constexpr std::size_t kLongestShortName = 127;
constexpr std::uint32_t kIsLong = 0x80000000U;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

void append_length(std::string& out, std::size_t length) {
  if (length <= kLongestShortName) {
    out.push_back(static_cast<char>(length));
    return;
  }
  const std::size_t marked = length | kIsLong;
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(marked >> shift));
}

std::optional<std::size_t> take_length(std::string_view& pairs) {
  if (pairs.empty()) return std::nullopt;
  const std::size_t size = byte_at(pairs, 0) <= kLongestShortName ? 1 : 4;
  if (pairs.size() < size) return std::nullopt;
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < size; ++i) length = length << 8 | byte_at(pairs, i);
  pairs.remove_prefix(size);
  return length & ~kIsLong;
}

}  // namespace

RecordHeaderBytes encode(const RecordHeader& header) {
  const auto high = [](std::uint16_t number) { return static_cast<char>(number >> 8); };
  const auto low = [](std::uint16_t number) { return static_cast<char>(number); };
  return {FCGI_VERSION_1,
          static_cast<char>(header.type),
          high(header.request_id),
          low(header.request_id),
          high(header.content_length),
          low(header.content_length),
          static_cast<char>(header.padding_length),
          0};
}

std::uint16_t word_of(std::string_view bytes) {
  return static_cast<std::uint16_t>(byte_at(bytes, 0) << 8 | byte_at(bytes, 1));
}

std::optional<RecordHeader> decode(std::string_view bytes) {
  if (bytes.size() < kRecordHeaderSize || bytes[0] != FCGI_VERSION_1) return std::nullopt;
  return RecordHeader{.type = static_cast<RecordType>(byte_at(bytes, 1)),
                      .request_id = word_of(bytes.substr(2)),
                      .content_length = word_of(bytes.substr(4)),
                      .padding_length = byte_at(bytes, 6)};
}

void append_pair(std::string& pairs, std::string_view name, std::string_view value) {
  append_length(pairs, name.size());
  append_length(pairs, value.size());
  pairs += name;
  pairs += value;
}

std::optional<Pair> take_pair(std::string_view& pairs) {
  const auto name = take_length(pairs);
  const auto value = take_length(pairs);
  if (!name || !value || *name == 0 || *name + *value > pairs.size()) return std::nullopt;
  const Pair found{pairs.substr(0, *name), pairs.substr(*name, *value)};
  pairs.remove_prefix(*name + *value);
  return found;
}

}  // namespace quarry::http
