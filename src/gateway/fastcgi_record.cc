#include "fastcgi_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace quarry::gateway {
namespace {

using http::kMostContent;
using http::kRecordHeaderSize;
using http::RecordType;

constexpr std::uint16_t kRequestId = 1;
// Role 1 (responder), flags 0: the worker closes when it has answered.
constexpr std::string_view kBeginContent("\0\1\0\0\0\0\0\0", 8);

http::RecordHeaderBytes header(RecordType type, std::size_t content) {
  return http::encode({.type = type,
                       .request_id = kRequestId,
                       .content_length = static_cast<std::uint16_t>(content)});
}

void append_header(std::string& out, RecordType type, std::size_t content) {
  const auto bytes = header(type, content);
  out.append(bytes.data(), bytes.size());
}

}  // namespace

bool append_request(evbuffer* out, std::string_view params, evbuffer* body) {
  std::string start;
  start.reserve(params.size() + 64);
  append_header(start, RecordType::kBeginRequest, kBeginContent.size());
  start += kBeginContent;
  while (!params.empty()) {
    const std::string_view piece = params.substr(0, kMostContent);
    append_header(start, RecordType::kParams, piece.size());
    start += piece;
    params.remove_prefix(piece.size());
  }
  append_header(start, RecordType::kParams, 0);
  if (evbuffer_add(out, start.data(), start.size()) != 0) return false;

  std::size_t left = body == nullptr ? 0 : evbuffer_get_length(body);
  while (left > 0) {
    const std::size_t size = std::min(left, kMostContent);
    const auto head = header(RecordType::kStdin, size);
    if (evbuffer_add(out, head.data(), head.size()) != 0) return false;
    if (evbuffer_remove_buffer(body, out, size) != static_cast<int>(size)) return false;
    left -= size;
  }
  const auto end = header(RecordType::kStdin, 0);
  return evbuffer_add(out, end.data(), end.size()) == 0;
}

RecordReader::Status RecordReader::bad(std::string error) {
  error_ = std::move(error);
  return Status::kBad;
}

RecordReader::Status RecordReader::take_header() {
  const auto header = http::decode({block_.data(), block_.size()});
  if (!header) {
    return bad(
        fmt::format("FastCGI version {} in its answer", static_cast<unsigned char>(block_[0])));
  }
  type_ = header->type;
  content_left_ = header->content_length;
  padding_left_ = header->padding_length;
  if (header->request_id != kRequestId) {
    return bad(fmt::format("an answer to FastCGI request {}", header->request_id));
  }
  switch (type_) {
    case RecordType::kStdout:
      if (stdout_ended_) return bad("standard output after its end");
      stdout_ended_ = content_left_ == 0;
      break;
    case RecordType::kStderr:
      break;
    case RecordType::kEndRequest:
      if (content_left_ != 8) return bad(fmt::format("an end record of {} bytes", content_left_));
      break;
    default:
      return bad(fmt::format("FastCGI record type {} in its answer", std::to_underlying(type_)));
  }
  block_size_ = 0;
  part_ = Part::kContent;
  return Status::kMore;
}

bool RecordReader::take_content(std::string_view bytes, RecordSink& sink) {
  content_left_ -= bytes.size();
  switch (type_) {
    case RecordType::kStdout:
      sink.on_stdout(bytes);
      return false;
    case RecordType::kStderr:
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
      const std::size_t size = std::min(kRecordHeaderSize - block_size_, bytes.size());
      std::memcpy(block_.data() + block_size_, bytes.data(), size);
      block_size_ += size;
      bytes.remove_prefix(size);
      if (block_size_ < kRecordHeaderSize) return Status::kMore;
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
