#include "body.h"

#include <fmt/core.h>
#include <strings.h>

#include "quarry/artifact/blob.h"
#include "quarry/sync/request.h"

namespace quarry::sync {
namespace {

constexpr std::string_view kCompressed = "application/x-fossil";
constexpr std::string_view kPlain = "application/x-fossil-debug";
constexpr std::string_view kPlainClone = "application/x-fossil-uncompressed";

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

base::Error too_large(std::string_view what, std::size_t max_size) {
  return {base::ErrorCode::kLimit, fmt::format("the {} is larger than {} bytes", what, max_size)};
}

}  // namespace

std::optional<BodyFormat> request_format(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  while (!type.empty() && (type.front() == ' ' || type.front() == '\t')) type.remove_prefix(1);
  if (equal_ignoring_case(type, kCompressed)) return BodyFormat::kCompressed;
  if (equal_ignoring_case(type, kPlain)) return BodyFormat::kPlain;
  return std::nullopt;
}

std::string_view content_type_of(BodyFormat format) {
  switch (format) {
    case BodyFormat::kCompressed:
      return kCompressed;
    case BodyFormat::kPlainClone:
      return kPlainClone;
    case BodyFormat::kPlain:
      break;
  }
  return kPlain;
}

bool is_sync_content_type(std::string_view content_type) {
  return request_format(content_type).has_value();
}

std::size_t decoded_size(BodyFormat format, std::string_view body) {
  if (format != BodyFormat::kCompressed) return body.size();
  return artifact::blob_declared_size(body).value_or(0);
}

base::Result<std::string_view> decode_body(BodyFormat format, std::string_view body,
                                           std::size_t max_size, std::string& storage,
                                           std::string_view what) {
  if (body.size() > max_size) return std::unexpected(too_large(what, max_size));
  if (format != BodyFormat::kCompressed || body.empty()) return body;
  auto expanded = artifact::blob_expand(body, max_size);
  if (!expanded) {
    if (expanded.error().code == base::ErrorCode::kLimit)
      return std::unexpected(too_large(what, max_size));
    return base::fail(base::ErrorCode::kInvalid, fmt::format("the {} cannot be uncompressed: {}",
                                                             what, expanded.error().message));
  }
  storage = std::move(*expanded);
  return storage;
}

std::string encode_body(BodyFormat format, std::string&& cards) {
  if (format == BodyFormat::kCompressed) return artifact::blob_compress(cards);
  return std::move(cards);
}

}  // namespace quarry::sync
