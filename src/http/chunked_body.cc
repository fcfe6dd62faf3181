#include "quarry/http/chunked_body.h"

#include <algorithm>
#include <cstdint>

#include "quarry/base/blanks.h"
#include "quarry/base/number.h"
#include "quarry/http/syntax.h"

namespace quarry::http {
namespace {

constexpr std::size_t kMaxLine = 1024;
constexpr std::size_t kMaxTrailer = std::size_t{8} << 10;
constexpr std::size_t kMaxSizeDigits = 15;

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSizeDigits &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

ChunkedBody::Status ChunkedBody::feed(std::string_view& bytes, std::string& out) {
  while (!bytes.empty() && part_ != Part::kDone) {
    if (part_ == Part::kData) {
      const std::string_view piece = bytes.substr(0, left_);
      out += piece;
      left_ -= piece.size();
      bytes.remove_prefix(piece.size());
      if (left_ == 0) part_ = Part::kEndOfData;
      continue;
    }
    Status status = read_line(bytes);
    if (status == Status::kEnd) status = on_line();
    if (status != Status::kMore) return status;
  }
  return part_ == Part::kDone ? Status::kEnd : Status::kMore;
}

ChunkedBody::Status ChunkedBody::read_line(std::string_view& bytes) {
  const std::size_t newline = bytes.find('\n');
  const std::size_t size = newline == std::string_view::npos ? bytes.size() : newline + 1;
  if (line_.size() + size > kMaxLine) return Status::kMalformed;
  line_ += bytes.substr(0, size);
  bytes.remove_prefix(size);
  if (newline == std::string_view::npos) return Status::kMore;
  if (!line_.ends_with("\r\n")) return Status::kMalformed;
  line_.resize(line_.size() - 2);
  return Status::kEnd;
}

ChunkedBody::Status ChunkedBody::on_line() {
  Status status = Status::kMore;
  switch (part_) {
    case Part::kSize:
      status = on_size();
      break;
    case Part::kEndOfData:
      if (!line_.empty()) return Status::kMalformed;
      part_ = Part::kSize;
      break;
    default:
      status = on_trailer_field();
  }
  line_.clear();
  return status;
}

ChunkedBody::Status ChunkedBody::on_size() {
  const std::string_view line = line_;
  const std::size_t end = std::min(line.find(';'), line.size());
  const std::string_view digits = base::trim_blanks(line.substr(0, end));
  // Blanks are allowed only before extensions.
  const bool is_well_formed = line.starts_with(digits) && is_field_value(line.substr(end)) &&
                              (end < line.size() || digits.size() == line.size());
  if (!is_well_formed || !is_hexadecimal(digits)) return Status::kMalformed;
  left_ = static_cast<std::size_t>(*base::parse_number<std::uint64_t>(digits, 16));
  if (left_ > max_body_ - size_) return Status::kTooLarge;
  size_ += left_;
  part_ = left_ == 0 ? Part::kTrailer : Part::kData;
  return Status::kMore;
}

ChunkedBody::Status ChunkedBody::on_trailer_field() {
  if (line_.empty()) {
    part_ = Part::kDone;
    return Status::kMore;
  }
  trailer_size_ += line_.size();
  const std::string_view line = line_;
  const std::size_t colon = line.find(':');
  const bool is_field = colon != std::string_view::npos && is_token(line.substr(0, colon)) &&
                        is_field_value(base::trim_blanks(line.substr(colon + 1)));
  return is_field && trailer_size_ <= kMaxTrailer ? Status::kMore : Status::kMalformed;
}

}  // namespace quarry::http
