#include "request_reader.h"

#include <array>

namespace quarry::pages {
namespace {

using http::RecordType;

constexpr std::uint16_t kResponder = 1;
constexpr std::size_t kBeginSize = 8;

}  // namespace

RequestReader::RequestReader(std::size_t max_body) : max_body_(max_body) {
  request_.body.reset(evbuffer_new());
}

RequestReader::Status RequestReader::feed(evbuffer* input) {
  for (;;) {
    http::RecordHeaderBytes bytes{};
    if (evbuffer_copyout(input, bytes.data(), bytes.size()) < static_cast<int>(bytes.size())) {
      return Status::kMore;
    }
    const auto header = http::decode({bytes.data(), bytes.size()});
    if (!header) return Status::kMalformed;
    const std::size_t size =
        http::kRecordHeaderSize + header->content_length + header->padding_length;
    if (evbuffer_get_length(input) < size) return Status::kMore;
    evbuffer_drain(input, http::kRecordHeaderSize);
    const Status status = take(*header, input);
    evbuffer_drain(input, header->padding_length);
    if (status != Status::kMore) return status;
  }
}

RequestReader::Status RequestReader::take(const http::RecordHeader& header, evbuffer* input) {
  if (header.type == RecordType::kAbortRequest && part_ != Part::kBegin) return Status::kAborted;
  if (part_ == Part::kBody) return take_body(header, input);
  std::string content(header.content_length, '\0');
  evbuffer_remove(input, content.data(), content.size());
  if (part_ == Part::kBegin && header.type == RecordType::kBeginRequest && header.request_id != 0) {
    id_ = header.request_id;
    return take_begin(content);
  }
  const bool is_params = part_ == Part::kParams && header.type == RecordType::kParams;
  return is_params && header.request_id == id_ ? take_params(content) : Status::kMalformed;
}

RequestReader::Status RequestReader::take_begin(std::string_view content) {
  if (content.size() != kBeginSize || http::word_of(content) != kResponder) {
    return Status::kMalformed;
  }
  part_ = Part::kParams;
  return Status::kMore;
}

RequestReader::Status RequestReader::take_params(std::string_view content) {
  if (params_.size() + content.size() > http::kMaxParamsSize) return Status::kMalformed;
  params_ += content;
  if (!content.empty()) return Status::kMore;
  if (!parse_params()) return Status::kMalformed;
  part_ = Part::kBody;
  return Status::kMore;
}

bool RequestReader::parse_params() {
  std::string_view rest = params_;
  while (!rest.empty()) {
    const auto pair = http::take_pair(rest);
    if (!pair || request_.parameters.size() == http::kMaxParams) return false;
    // A NUL would end the parameter early for whoever reads it as a C string.
    if (pair->name.contains('\0') || pair->value.contains('\0')) return false;
    request_.parameters.emplace_back(std::string(pair->name), std::string(pair->value));
  }
  params_.clear();
  return true;
}

RequestReader::Status RequestReader::take_body(const http::RecordHeader& header, evbuffer* input) {
  if (header.type != RecordType::kStdin || header.request_id != id_) return Status::kMalformed;
  if (header.content_length == 0) {
    part_ = Part::kDone;
    return Status::kComplete;
  }
  if (body_size() + header.content_length > max_body_) return Status::kTooLarge;
  evbuffer_remove_buffer(input, request_.body.get(), header.content_length);
  return Status::kMore;
}

}  // namespace quarry::pages
