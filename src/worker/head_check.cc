#include "head_check.h"

#include <cstdint>
#include <optional>
#include <string>

namespace quarry::worker {
namespace {

constexpr std::size_t kRecordHeader = 8;
constexpr std::uint8_t kVersion = 1;
constexpr std::uint16_t kResponder = 1;

enum RecordType : std::uint8_t { kBegin = 1, kParams = 4, kStdin = 5, kGetValues = 9 };

struct Record {
  std::uint8_t type = 0;
  std::uint16_t id = 0;
  std::string_view content;
};

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint16_t word_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

/// Takes records off the front of the bytes that came.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : rest_(bytes) {}

  /// The next record; nothing if not all of it is there, or it is none.
  std::optional<Record> next() {
    if (rest_.empty()) return std::nullopt;
    if (byte_at(rest_, 0) != kVersion) {
      is_malformed_ = true;
      return std::nullopt;
    }
    if (rest_.size() < kRecordHeader) return std::nullopt;
    const std::size_t length = word_at(rest_, 4);
    const std::size_t size = kRecordHeader + length + byte_at(rest_, 6);
    if (rest_.size() < size) return std::nullopt;
    const Record record{byte_at(rest_, 1), word_at(rest_, 2), rest_.substr(kRecordHeader, length)};
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

/// Takes one name or value length off the front of PARAMS.
std::optional<std::size_t> take_length(std::string_view& params) {
  if (params.empty()) return std::nullopt;
  if (byte_at(params, 0) < 0x80) {
    const std::size_t length = byte_at(params, 0);
    params.remove_prefix(1);
    return length;
  }
  if (params.size() < 4) return std::nullopt;
  const std::size_t length = std::size_t{word_at(params, 0)} << 16 | word_at(params, 2);
  params.remove_prefix(4);
  return length & 0x7FFFFFFFU;
}

}  // namespace

std::optional<std::string_view> take_parameter_name(std::string_view& params) {
  const auto name = take_length(params);
  const auto value = take_length(params);
  if (!name || !value || *name == 0 || *name + *value > params.size()) return std::nullopt;
  const std::string_view found = params.substr(0, *name);
  params.remove_prefix(*name + *value);
  return found;
}

namespace {

HeadVerdict check_params(std::string_view params) {
  for (std::size_t count = 1; !params.empty(); ++count) {
    if (count > kMaxParams) return HeadVerdict::kTooLarge;
    const auto name = take_length(params);
    const auto value = take_length(params);
    if (!name || !value || *name == 0 || *name + *value > params.size()) {
      return HeadVerdict::kMalformed;
    }
    // A NUL would end the parameter early for whoever reads it as a C string.
    if (params.substr(0, *name + *value).find('\0') != std::string_view::npos) {
      return HeadVerdict::kMalformed;
    }
    params.remove_prefix(*name + *value);
  }
  return HeadVerdict::kComplete;
}

bool begins_request(const Record& record) {
  return record.type == kBegin && record.id != 0 && record.content.size() == 8 &&
         word_at(record.content, 0) == kResponder;
}

/// Whether all of the body is there too.
bool has_whole_body(RecordReader& records, std::uint16_t id) {
  while (const auto record = records.next()) {
    if (record->type != kStdin || record->id != id) return false;
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
  if (begin->type == kGetValues && begin->id == 0) {
    return {.verdict = HeadVerdict::kGetValues, .size = records.taken(), .content = begin->content};
  }
  if (!begins_request(*begin)) return {HeadVerdict::kMalformed};

  // Nearly always all parameters are in one record, and are looked at where they lie.
  std::string joined;
  std::string_view params;
  for (;;) {
    const auto record = records.next();
    if (!record) return unfinished();
    if (record->type != kParams || record->id != begin->id) return {HeadVerdict::kMalformed};
    if (record->content.empty()) break;
    if (params.size() + record->content.size() > kMaxParamsSize) return {HeadVerdict::kTooLarge};
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

}  // namespace quarry::worker
