#include "quarry/http/fastcgi.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace quarry::http {
namespace {

constexpr std::size_t kMaxShortLength = 127;
constexpr std::uint32_t kIsLong = 0x80000000U;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

void append_length(std::string& out, std::size_t length) {
  if (length <= kMaxShortLength) {
    out.push_back(static_cast<char>(length));
    return;
  }
  const std::size_t marked = length | kIsLong;
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(marked >> shift));
}

std::optional<std::size_t> take_length(std::string_view& pairs) {
  if (pairs.empty()) return std::nullopt;
  const std::size_t size = byte_at(pairs, 0) <= kMaxShortLength ? 1 : 4;
  if (pairs.size() < size) return std::nullopt;
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < size; ++i) length = length << 8 | byte_at(pairs, i);
  pairs.remove_prefix(size);
  return length & ~kIsLong;
}

/// Returns the bytes of BODY, a struct of libfcgi.
template <typename Body>
std::string text_of(const Body& body) {
  return {reinterpret_cast<const char*>(&body), sizeof body};
}

}  // namespace

RecordHeaderBytes encode(const RecordHeader& header) {
  const auto high = [](std::uint16_t number) { return static_cast<std::uint8_t>(number >> 8); };
  const auto low = [](std::uint16_t number) { return static_cast<std::uint8_t>(number); };
  return std::bit_cast<RecordHeaderBytes>(
      FCGI_Header{.version = FCGI_VERSION_1,
                  .type = header.type,
                  .requestIdB1 = high(header.request_id),
                  .requestIdB0 = low(header.request_id),
                  .contentLengthB1 = high(header.content_length),
                  .contentLengthB0 = low(header.content_length),
                  .paddingLength = header.padding_length,
                  .reserved = 0});
}

std::optional<RecordHeader> decode(std::string_view bytes) {
  FCGI_Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != FCGI_VERSION_1) return std::nullopt;
  const auto word = [](unsigned high, unsigned low) {
    return static_cast<std::uint16_t>(high << 8 | low);
  };
  return RecordHeader{.type = header.type,
                      .request_id = word(header.requestIdB1, header.requestIdB0),
                      .content_length = word(header.contentLengthB1, header.contentLengthB0),
                      .padding_length = header.paddingLength};
}

void append_record(std::string& out, std::uint8_t type, std::uint16_t request_id,
                   std::string_view content, std::uint8_t padding) {
  const auto header = encode({.type = type,
                              .request_id = request_id,
                              .content_length = static_cast<std::uint16_t>(content.size()),
                              .padding_length = padding});
  out.append(header.data(), header.size());
  out += content;
  out.append(padding, '\0');
}

void append_stream(std::string& out, std::uint8_t type, std::uint16_t request_id,
                   std::string_view content) {
  while (!content.empty()) {
    const std::string_view piece = content.substr(0, kMaxContent);
    append_record(out, type, request_id, piece);
    content.remove_prefix(piece.size());
  }
}

std::string begin_content(std::uint8_t flags) {
  return text_of(
      FCGI_BeginRequestBody{.roleB1 = 0, .roleB0 = FCGI_RESPONDER, .flags = flags, .reserved = {}});
}

std::string end_content(std::uint8_t status) {
  return text_of(FCGI_EndRequestBody{.appStatusB3 = 0,
                                     .appStatusB2 = 0,
                                     .appStatusB1 = 0,
                                     .appStatusB0 = 0,
                                     .protocolStatus = status,
                                     .reserved = {}});
}

bool begins_request(const RecordHeader& header, std::string_view content) {
  FCGI_BeginRequestBody body;
  if (header.type != FCGI_BEGIN_REQUEST || header.request_id == FCGI_NULL_REQUEST_ID ||
      content.size() != sizeof body) {
    return false;
  }
  std::memcpy(&body, content.data(), sizeof body);
  return body.roleB1 == 0 && body.roleB0 == FCGI_RESPONDER;
}

bool RecordReader::take_header(std::string_view& bytes) {
  const std::size_t size =
      bytes.copy(header_bytes_.data() + header_size_, header_bytes_.size() - header_size_);
  bytes.remove_prefix(size);
  header_size_ += size;
  if (header_size_ < header_bytes_.size() || is_malformed()) return false;
  header_ = *decode({header_bytes_.data(), header_bytes_.size()});
  header_size_ = 0;
  content_left_ = header_.content_length;
  return true;
}

std::optional<RecordPart> RecordReader::next(std::string_view& bytes) {
  const bool is_first = !is_inside_;
  if (is_first) {
    const std::size_t padding = std::min(padding_left_, bytes.size());
    padding_left_ -= padding;
    bytes.remove_prefix(padding);
    if (!take_header(bytes)) return std::nullopt;
    padding_left_ = header_.padding_length;
  } else if (bytes.empty()) {
    return std::nullopt;
  }
  const RecordPart part{.header = header_,
                        .content = bytes.substr(0, content_left_),
                        .is_first = is_first,
                        .is_last = content_left_ <= bytes.size()};
  bytes.remove_prefix(part.content.size());
  content_left_ -= part.content.size();
  is_inside_ = !part.is_last;
  return part;
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
  if (found.name.contains('\0') || found.value.contains('\0')) return std::nullopt;
  pairs.remove_prefix(*name + *value);
  return found;
}

}  // namespace quarry::http
