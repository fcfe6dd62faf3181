// Input: bytes that the gateway parses as a request head, as a chunked body, as a PROXY header, as
// FastCGI records from a pool, and as a reply header.
#include <cstdint>
#include <string>
#include <string_view>

#include "fastcgi_record.h"
#include "proxy_header.h"
#include "quarry/base/event_handles.h"
#include "quarry/http/chunked_body.h"
#include "quarry/http/reply_header.h"
#include "quarry/http/request_head.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"
#include "require.h"

namespace {

namespace http = quarry::http;
using quarry::gateway::ReplyReader;

constexpr std::size_t kMaxBody = 1000;

struct Collected {
  quarry::base::EventBufferPtr out{evbuffer_new()};
  std::string errors;

  std::string output() const {
    std::string bytes(evbuffer_get_length(out.get()), '\0');
    evbuffer_copyout(out.get(), bytes.data(), bytes.size());
    return bytes;
  }
};

bool is_one_line(std::string_view text) {
  return text.find_first_of("\r\n") == std::string::npos;
}

void pass_over_empty_lines(std::string_view bytes) {
  const std::size_t size = http::size_of_empty_lines(bytes);
  REQUIRE(size <= bytes.size());
  REQUIRE(bytes.substr(0, size).find_first_not_of("\r\n") == std::string_view::npos);
  REQUIRE(http::size_of_empty_lines(bytes.substr(size)) == 0);
}

void read_head(std::string_view bytes) {
  const auto refusal = http::refuse_head(bytes, kMaxBody);
  if (!refusal) return;
  REQUIRE(refusal->status >= 400 && refusal->status <= 505);
  // Text from the client must not add lines to the reply.
  REQUIRE(is_one_line(refusal->text) && http::is_field_value(refusal->text));
  REQUIRE(http::reason_phrase(refusal->status) != "Unknown");
}

void read_reply_header(std::string_view bytes) {
  const std::size_t size = http::header_block_size(bytes);
  if (size == std::string_view::npos) return;
  REQUIRE(size <= bytes.size());
  const auto header = http::parse_reply_header(bytes.substr(0, size));
  if (!header) return;
  REQUIRE(header->status >= 200 && header->status <= 599);
  REQUIRE(is_one_line(header->reason));
  for (const auto& [name, value] : header->fields) {
    REQUIRE(http::is_token(name) && is_one_line(value));
  }
}

std::string decode_chunks(std::string_view bytes, std::size_t step) {
  http::ChunkedBody decoder(kMaxBody);
  std::string body;
  auto status = http::ChunkedBody::Status::kMore;
  std::size_t used = 0;
  while (used < bytes.size() && status == http::ChunkedBody::Status::kMore) {
    std::string_view piece = bytes.substr(used, step);
    const std::size_t before = piece.size();
    status = decoder.feed(piece, body);
    used += before - piece.size();
  }
  REQUIRE(body.size() <= kMaxBody);
  const bool has_ended = status == http::ChunkedBody::Status::kEnd;
  return std::to_string(static_cast<int>(status)) + std::to_string(has_ended ? used : 0) + body;
}

void read_proxy_header(std::string_view bytes) {
  const auto header = quarry::gateway::parse_proxy_header(bytes);
  if (header && *header) REQUIRE((*header)->size <= bytes.size());
}

ReplyReader::Status read_records(std::string_view bytes, std::size_t step, Collected& collected) {
  ReplyReader reader;
  auto status = ReplyReader::Status::kMore;
  while (!bytes.empty() && status == ReplyReader::Status::kMore) {
    const std::string_view piece = bytes.substr(0, step);
    status = reader.feed(piece, collected.out.get(), collected.errors);
    bytes.remove_prefix(piece.size());
  }
  REQUIRE((status == ReplyReader::Status::kBad) == !reader.error().empty());
  return status;
}

void read_records_in_pieces(std::string_view bytes, std::size_t step) {
  Collected whole;
  Collected pieces;
  REQUIRE(read_records(bytes, bytes.size(), whole) == read_records(bytes, step, pieces));
  REQUIRE(whole.output() == pieces.output() && whole.errors == pieces.errors);
}

void decode_path(std::string_view bytes) {
  const auto path = http::percent_decode(bytes);
  if (path) REQUIRE(path->size() <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  pass_over_empty_lines(bytes);
  read_head(bytes);
  read_reply_header(bytes);
  decode_path(bytes);
  read_proxy_header(bytes);
  if (bytes.empty()) return 0;
  const std::size_t step = 1 + data[size - 1] % 16;
  REQUIRE(decode_chunks(bytes, bytes.size()) == decode_chunks(bytes, step));
  read_records_in_pieces(bytes, step);
  return 0;
}
