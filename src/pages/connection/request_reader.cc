#include "request_reader.h"

namespace quarry::pages {

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
    if (evbuffer_get_length(input) < header->record_size()) return Status::kMore;
    evbuffer_drain(input, bytes.size());
    const Status status = take(*header, input);
    evbuffer_drain(input, header->padding_length);
    if (status != Status::kMore) return status;
  }
}

RequestReader::Status RequestReader::take(const http::RecordHeader& header, evbuffer* input) {
  if (header.type == FCGI_ABORT_REQUEST && part_ != Part::kBegin) return Status::kAborted;
  if (part_ == Part::kBody) return take_body(header, input);
  std::string content(header.content_length, '\0');
  evbuffer_remove(input, content.data(), content.size());
  if (part_ == Part::kBegin && http::begins_request(header, content)) {
    id_ = header.request_id;
    part_ = Part::kParams;
    return Status::kMore;
  }
  const bool is_params = part_ == Part::kParams && header.type == FCGI_PARAMS;
  return is_params && header.request_id == id_ ? take_params(content) : Status::kMalformed;
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
    request_.parameters.emplace_back(std::string(pair->name), std::string(pair->value));
  }
  params_.clear();
  return true;
}

RequestReader::Status RequestReader::take_body(const http::RecordHeader& header, evbuffer* input) {
  if (header.type != FCGI_STDIN || header.request_id != id_) return Status::kMalformed;
  if (header.content_length == 0) {
    part_ = Part::kDone;
    return Status::kComplete;
  }
  if (body_size() + header.content_length > max_body_) return Status::kTooLarge;
  evbuffer_remove_buffer(input, request_.body.get(), header.content_length);
  return Status::kMore;
}

}  // namespace quarry::pages
