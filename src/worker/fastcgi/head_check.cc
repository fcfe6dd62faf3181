#include "head_check.h"

#include <cstdint>
#include <optional>

namespace quarry::worker {
namespace {

/// Iterates over the complete records at the start of the received bytes.
class WholeRecords {
 public:
  explicit WholeRecords(std::string_view bytes) : rest_(bytes) {}

  /// Returns the next record, or nullopt if it is incomplete or malformed.
  std::optional<http::RecordPart> next() {
    auto record = reader_.next(rest_);
    const bool is_whole =
        record && record->is_last && rest_.size() >= record->header.padding_length;
    return is_whole ? record : std::nullopt;
  }
  bool is_malformed() const { return reader_.is_malformed(); }

 private:
  std::string_view rest_;
  http::RecordReader reader_;
};

HeadVerdict check_params(std::string_view params) {
  for (std::size_t count = 1; !params.empty(); ++count) {
    if (count > http::kMaxParams) return HeadVerdict::kTooLarge;
    if (!http::take_pair(params)) return HeadVerdict::kMalformed;
  }
  return HeadVerdict::kComplete;
}

/// Returns whether the whole body has also arrived.
bool has_whole_body(WholeRecords& records, std::uint16_t id) {
  while (const auto record = records.next()) {
    if (record->header.type != FCGI_STDIN || record->header.request_id != id) return false;
    if (record->content.empty()) return true;
  }
  return false;
}

}  // namespace

HeadCheck check_head(std::string_view bytes) {
  WholeRecords records(bytes);
  const auto unfinished = [&] {
    const bool is_malformed = records.is_malformed();
    return HeadCheck{is_malformed ? HeadVerdict::kMalformed : HeadVerdict::kIncomplete};
  };
  const auto begin = records.next();
  if (!begin) return unfinished();
  const http::RecordHeader& header = begin->header;
  if (header.type == FCGI_GET_VALUES && header.request_id == FCGI_NULL_REQUEST_ID) {
    return {.verdict = HeadVerdict::kGetValues,
            .size = header.record_size(),
            .content = begin->content};
  }
  if (!http::begins_request(header, begin->content)) return {HeadVerdict::kMalformed};

  // Parse the parameters in place if a single record contains all of them, as usual. Otherwise,
  // join the records first.
  std::string joined;
  std::string_view params;
  for (;;) {
    const auto record = records.next();
    if (!record) return unfinished();
    if (record->header.type != FCGI_PARAMS || record->header.request_id != header.request_id)
      return {HeadVerdict::kMalformed};
    if (record->content.empty()) break;
    if (params.size() + record->content.size() > http::kMaxParamsSize)
      return {HeadVerdict::kTooLarge};
    if (params.empty()) {
      params = record->content;
      continue;
    }
    if (joined.empty()) joined = params;
    joined += record->content;
    params = joined;
  }
  const HeadVerdict verdict = check_params(params);
  return {verdict, verdict == HeadVerdict::kComplete && has_whole_body(records, header.request_id)};
}

std::string params_of(std::string_view bytes) {
  WholeRecords records(bytes);
  std::string params;
  records.next();  // BEGIN_REQUEST
  for (auto record = records.next(); record && !record->content.empty(); record = records.next()) {
    params += record->content;
  }
  return params;
}

}  // namespace quarry::worker
