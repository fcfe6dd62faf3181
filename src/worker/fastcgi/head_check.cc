#include "head_check.h"

#include <cstdint>
#include <optional>
#include <string>

#include "quarry/http/fastcgi.h"

namespace quarry::worker {
namespace {

using http::RecordType;

constexpr std::uint16_t kResponder = 1;

struct Record {
  RecordType type;
  std::uint16_t id;
  std::string_view content;
};

/// Takes records off the front of the bytes that came.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : rest_(bytes) {}

  /// The next record; nothing if not all of it is there, or it is none.
  std::optional<Record> next() {
    if (rest_.empty()) return std::nullopt;
    if (rest_[0] != FCGI_VERSION_1) {
      is_malformed_ = true;
      return std::nullopt;
    }
    const auto header = http::decode(rest_);
    if (!header) return std::nullopt;
    const std::size_t size =
        http::kRecordHeaderSize + header->content_length + header->padding_length;
    if (rest_.size() < size) return std::nullopt;
    const Record record{header->type, header->request_id,
                        rest_.substr(http::kRecordHeaderSize, header->content_length)};
    rest_.remove_prefix(size);
    taken_ += size;
    return record;
  }
  /// Bytes of the records so far.
  std::size_t taken() const { return taken_; }
  bool is_malformed() const { return is_malformed_; }

 private:
  std::string_view rest_;
  std::size_t taken_ = 0;
  bool is_malformed_ = false;
};

HeadVerdict check_params(std::string_view params) {
  for (std::size_t count = 1; !params.empty(); ++count) {
    if (count > http::kMaxParams) return HeadVerdict::kTooLarge;
    const auto pair = http::take_pair(params);
    if (!pair) return HeadVerdict::kMalformed;
    // A NUL would end the parameter early for whoever reads it as a C string.
    const bool has_nul = pair->name.contains('\0') || pair->value.contains('\0');
    if (has_nul) return HeadVerdict::kMalformed;
  }
  return HeadVerdict::kComplete;
}

bool begins_request(const Record& record) {
  return record.type == RecordType::kBeginRequest && record.id != 0 && record.content.size() == 8 &&
         http::word_of(record.content) == kResponder;
}

/// Whether all of the body is there too.
bool has_whole_body(RecordReader& records, std::uint16_t id) {
  while (const auto record = records.next()) {
    if (record->type != RecordType::kStdin || record->id != id) return false;
    if (record->content.empty()) return true;
  }
  return false;
}

}  // namespace

HeadCheck check_head(std::string_view bytes) {
  RecordReader records(bytes);
  const auto unfinished = [&] {
    const bool is_malformed = records.is_malformed();
    return HeadCheck{is_malformed ? HeadVerdict::kMalformed : HeadVerdict::kIncomplete};
  };
  const auto begin = records.next();
  if (!begin) return unfinished();
  if (begin->type == RecordType::kGetValues && begin->id == 0) {
    return {.verdict = HeadVerdict::kGetValues, .size = records.taken(), .content = begin->content};
  }
  if (!begins_request(*begin)) return {HeadVerdict::kMalformed};

  // Nearly always all parameters are in one record, and are looked at where they lie.
  std::string joined;
  std::string_view params;
  for (;;) {
    const auto record = records.next();
    if (!record) return unfinished();
    if (record->type != RecordType::kParams || record->id != begin->id)
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
  return {verdict, verdict == HeadVerdict::kComplete && has_whole_body(records, begin->id)};
}

std::string params_of(std::string_view bytes) {
  RecordReader records(bytes);
  std::string params;
  records.next();  // BEGIN_REQUEST
  for (auto record = records.next(); record && !record->content.empty(); record = records.next()) {
    params += record->content;
  }
  return params;
}

}  // namespace quarry::worker
