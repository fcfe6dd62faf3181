#include "fastcgi_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace quarry::gateway {
namespace {

constexpr std::uint16_t kRequestId = 1;

}  // namespace

bool append_request(evbuffer* out, std::string_view params, evbuffer* body) {
  std::string start;
  start.reserve(params.size() + 64);
  // Without FCGI_KEEP_CONN the worker closes the connection after its reply.
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
    const std::size_t size = std::min(left, http::kMostContent);
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
    return fmt::format("an answer to FastCGI request {}", header.request_id);
  }
  switch (header.type) {
    case FCGI_STDOUT:
      if (stdout_ended_) return "standard output after its end";
      stdout_ended_ = header.content_length == 0;
      return {};
    case FCGI_STDERR:
      return {};
    case FCGI_END_REQUEST:
      if (header.content_length == sizeof(FCGI_EndRequestBody)) return {};
      return fmt::format("an end record of {} bytes", header.content_length);
    default:
      return fmt::format("FastCGI record type {} in its answer", header.type);
  }
}

ReplyReader::Status ReplyReader::feed(std::string_view bytes, ReplySink& sink) {
  while (const auto part = records_.next(bytes)) {
    if (part->is_first) error_ = error_in(part->header);
    if (!error_.empty()) return Status::kBad;
    switch (part->header.type) {
      case FCGI_STDOUT:
        sink.on_stdout(part->content);
        break;
      case FCGI_STDERR:
        sink.on_stderr(part->content);
        break;
      default:
        end_ += part->content;
        // Do not wait for the padding of the end record.
        if (part->is_last) return Status::kEnd;
    }
  }
  if (!records_.is_malformed()) return Status::kMore;
  error_ = fmt::format("FastCGI version {} in its answer", records_.version());
  return Status::kBad;
}

}  // namespace quarry::gateway
