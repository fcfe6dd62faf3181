#include "fastcgi_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace quarry::gateway {
namespace {

constexpr std::uint16_t kRequestId = 1;
constexpr std::size_t kMaxErrors = 4096;

}  // namespace

bool append_request(evbuffer* out, std::string_view params, evbuffer* body) {
  std::string start;
  start.reserve(params.size() + 64);
  // begin_content() does not set FCGI_KEEP_CONN, so the worker closes the connection after its
  // reply.
  http::append_record(start, FCGI_BEGIN_REQUEST, kRequestId, http::begin_content());
  http::append_stream(start, FCGI_PARAMS, kRequestId, params);
  http::append_record(start, FCGI_PARAMS, kRequestId, {});
  if (evbuffer_add(out, start.data(), start.size()) != 0) return false;

  const auto header = [](std::size_t size) {
    return http::encode({.type = FCGI_STDIN,
                         .request_id = kRequestId,
                         .content_length = static_cast<std::uint16_t>(size)});
  };
  std::size_t left = body == nullptr ? 0 : evbuffer_get_length(body);
  while (left > 0) {
    const std::size_t size = std::min(left, http::kMaxContent);
    const auto head = header(size);
    if (evbuffer_add(out, head.data(), head.size()) != 0) return false;
    if (evbuffer_remove_buffer(body, out, size) != static_cast<int>(size)) return false;
    left -= size;
  }
  const auto end = header(0);
  return evbuffer_add(out, end.data(), end.size()) == 0;
}

std::uint8_t ReplyReader::protocol_status() const {
  return static_cast<std::uint8_t>(end_[offsetof(FCGI_EndRequestBody, protocolStatus)]);
}

std::string ReplyReader::error_in(const http::RecordHeader& header) {
  if (header.request_id != kRequestId) {
    return fmt::format("a reply to FastCGI request {}, which was not sent", header.request_id);
  }
  switch (header.type) {
    case FCGI_STDOUT:
      if (stdout_ended_) return "data after the end of its standard output";
      stdout_ended_ = header.content_length == 0;
      return {};
    case FCGI_STDERR:
      return {};
    case FCGI_END_REQUEST:
      if (header.content_length == sizeof(FCGI_EndRequestBody)) return {};
      return fmt::format("an end record of {} bytes", header.content_length);
    default:
      return fmt::format("unexpected FastCGI record type {} in its reply", header.type);
  }
}

ReplyReader::Status ReplyReader::feed(std::string_view bytes, evbuffer* out, std::string& errors) {
  while (const auto part = records_.next(bytes)) {
    if (part->is_first) error_ = error_in(part->header);
    if (!error_.empty()) return Status::kBad;
    switch (part->header.type) {
      case FCGI_STDOUT:
        if (evbuffer_add(out, part->content.data(), part->content.size()) == 0) break;
        error_ = "out of memory";
        return Status::kBad;
      case FCGI_STDERR:
        errors += part->content.substr(0, kMaxErrors - errors.size());
        break;
      default:
        end_ += part->content;
        // Do not wait for the padding of the last record.
        if (part->is_last) return Status::kEnd;
    }
  }
  if (!records_.is_malformed()) return Status::kMore;
  error_ = fmt::format("unsupported FastCGI version {} in its reply", records_.version());
  return Status::kBad;
}

}  // namespace quarry::gateway
