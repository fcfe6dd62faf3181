#include "fastcgi_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace quarry::gateway {
namespace {

constexpr char kVersion = 1;
constexpr char kRequestId = 1;
constexpr std::size_t kHeaderSize = 8;
/// A multiple of eight below 64 KB, so that no record needs padding but the last.
constexpr std::size_t kMostContent = 65528;
constexpr std::size_t kLongestShortName = 127;

enum Type : std::uint8_t {
  kBeginRequest = 1,
  kEndRequest = 3,
  kParams = 4,
  kStdin = 5,
  kStdout = 6,
  kStderr = 7,
};

std::array<char, kHeaderSize> header(Type type, std::size_t content) {
  return {kVersion,
          static_cast<char>(type),
          0,
          kRequestId,
          static_cast<char>(content >> 8),
          static_cast<char>(content),
          0,
          0};
}

void append_header(std::string& out, Type type, std::size_t content) {
  const auto bytes = header(type, content);
  out.append(bytes.data(), bytes.size());
}

void append_length(std::string& out, std::size_t length) {
  if (length <= kLongestShortName) {
    out.push_back(static_cast<char>(length));
    return;
  }
  out.push_back(static_cast<char>(length >> 24 | 0x80));
  out.push_back(static_cast<char>(length >> 16));
  out.push_back(static_cast<char>(length >> 8));
  out.push_back(static_cast<char>(length));
}

std::uint8_t byte(char c) {
  return static_cast<std::uint8_t>(c);
}

}  // namespace

void Params::add(std::string_view name, std::string_view value) {
  append_length(bytes_, name.size());
  append_length(bytes_, value.size());
  bytes_ += name;
  bytes_ += value;
}

bool append_request(evbuffer* out, std::string_view params, evbuffer* body) {
  std::string start;
  start.reserve(params.size() + 64);
  append_header(start, kBeginRequest, 8);
  // Role 1 (responder), flags 0: the worker closes when it has answered.
  start.append("\0\1\0\0\0\0\0\0", 8);
  while (!params.empty()) {
    const std::string_view piece = params.substr(0, kMostContent);
    append_header(start, kParams, piece.size());
    start += piece;
    params.remove_prefix(piece.size());
  }
  append_header(start, kParams, 0);
  if (evbuffer_add(out, start.data(), start.size()) != 0) return false;

  std::size_t left = body == nullptr ? 0 : evbuffer_get_length(body);
  while (left > 0) {
    const std::size_t size = std::min(left, kMostContent);
    const auto head = header(kStdin, size);
    if (evbuffer_add(out, head.data(), head.size()) != 0) return false;
    if (evbuffer_remove_buffer(body, out, size) != static_cast<int>(size)) return false;
    left -= size;
  }
  const auto end = header(kStdin, 0);
  return evbuffer_add(out, end.data(), end.size()) == 0;
}

RecordReader::Status RecordReader::bad(std::string error) {
  error_ = std::move(error);
  return Status::kBad;
}

RecordReader::Status RecordReader::take_header() {
  if (block_[0] != kVersion) {
    return bad(fmt::format("FastCGI version {} in its answer", byte(block_[0])));
  }
  type_ = byte(block_[1]);
  const int id = byte(block_[2]) << 8 | byte(block_[3]);
  content_left_ = static_cast<std::size_t>(byte(block_[4]) << 8 | byte(block_[5]));
  padding_left_ = byte(block_[6]);
  if (id != kRequestId) return bad(fmt::format("an answer to FastCGI request {}", id));
  switch (type_) {
    case kStdout:
      if (stdout_ended_) return bad("standard output after its end");
      stdout_ended_ = content_left_ == 0;
      break;
    case kStderr:
      break;
    case kEndRequest:
      if (content_left_ != 8) return bad(fmt::format("an end record of {} bytes", content_left_));
      break;
    default:
      return bad(fmt::format("FastCGI record type {} in its answer", type_));
  }
  block_size_ = 0;
  part_ = Part::kContent;
  return Status::kMore;
}

bool RecordReader::take_content(std::string_view bytes, RecordSink& sink) {
  content_left_ -= bytes.size();
  switch (type_) {
    case kStdout:
      sink.on_stdout(bytes);
      return false;
    case kStderr:
      sink.on_stderr(bytes);
      return false;
    default:
      std::memcpy(block_.data() + block_size_, bytes.data(), bytes.size());
      block_size_ += bytes.size();
      return content_left_ == 0;
  }
}

RecordReader::Status RecordReader::feed(std::string_view bytes, RecordSink& sink) {
  while (true) {
    if (part_ == Part::kHeader) {
      const std::size_t size = std::min(kHeaderSize - block_size_, bytes.size());
      std::memcpy(block_.data() + block_size_, bytes.data(), size);
      block_size_ += size;
      bytes.remove_prefix(size);
      if (block_size_ < kHeaderSize) return Status::kMore;
      if (take_header() == Status::kBad) return Status::kBad;
    }
    if (part_ == Part::kContent) {
      const std::string_view piece = bytes.substr(0, content_left_);
      bytes.remove_prefix(piece.size());
      // The padding of the end record need not be waited for.
      if (!piece.empty() && take_content(piece, sink)) return Status::kEnd;
      if (content_left_ > 0) return Status::kMore;
      part_ = Part::kPadding;
    }
    const std::size_t padding = std::min(padding_left_, bytes.size());
    padding_left_ -= padding;
    bytes.remove_prefix(padding);
    if (padding_left_ > 0) return Status::kMore;
    part_ = Part::kHeader;
    block_size_ = 0;
    if (bytes.empty()) return Status::kMore;
  }
}

}  // namespace quarry::gateway
