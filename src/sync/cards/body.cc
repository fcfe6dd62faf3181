#include "body.h"

#include <fmt/core.h>

#include <array>

#include "quarry/artifact/blob.h"
#include "quarry/base/blanks.h"
#include "quarry/http/syntax.h"
#include "quarry/sync/request.h"

namespace quarry::sync {
namespace {

constexpr std::array<std::string_view, 3> kContentTypes = {
    "application/x-fossil", "application/x-fossil-debug", "application/x-fossil-uncompressed"};

Error too_large(std::string_view what, std::size_t max_size) {
  return {ErrorCode::kLimit, fmt::format("the {} is larger than {} bytes", what, max_size)};
}

/// Returns whether BODY contains the header of a zlib stream (RFC 1950, section 2.2) after the size.
bool is_compressed(std::string_view body) {
  if (body.size() < artifact::kBlobPrefixSize + 2) return false;
  const auto method = static_cast<unsigned char>(body[artifact::kBlobPrefixSize]);
  const auto flags = static_cast<unsigned char>(body[artifact::kBlobPrefixSize + 1]);
  return (method & 0x0f) == 8 && (method << 8 | flags) % 31 == 0;
}

}  // namespace

std::string_view content_type_of(BodyFormat format) {
  return kContentTypes[static_cast<std::size_t>(format)];
}

std::optional<BodyFormat> request_format(std::string_view content_type) {
  const std::string_view type = base::trim_blanks(content_type.substr(0, content_type.find(';')));
  for (const BodyFormat format : {BodyFormat::kCompressed, BodyFormat::kPlain}) {
    if (http::same_name(type, content_type_of(format))) return format;
  }
  return std::nullopt;
}

bool is_sync_content_type(std::string_view content_type) {
  return request_format(content_type).has_value();
}

std::size_t decoded_size(BodyFormat format, std::string_view body) {
  if (format != BodyFormat::kCompressed) return body.size();
  return is_compressed(body) ? artifact::blob_declared_size(body).value_or(0) : 0;
}

Result<std::string_view> decode_body(BodyFormat format, std::string_view body, std::size_t max_size,
                                     std::string& storage, std::string_view what) {
  if (body.size() > max_size) return std::unexpected(too_large(what, max_size));
  if (format != BodyFormat::kCompressed || body.empty()) return body;
  // The first letters of cards would look like a size of a gigabyte or more.
  if (!is_compressed(body)) return fail(ErrorCode::kInvalid, "the {} is not compressed", what);
  auto expanded = artifact::blob_expand(body, max_size);
  if (!expanded) {
    if (expanded.error().code == ErrorCode::kLimit)
      return std::unexpected(too_large(what, max_size));
    return fail(ErrorCode::kInvalid, "cannot decompress the {}: {}", what,
                expanded.error().message);
  }
  storage = std::move(*expanded);
  return storage;
}

std::string encode_body(BodyFormat format, std::string&& cards) {
  if (format == BodyFormat::kCompressed) return artifact::blob_compress(cards);
  return std::move(cards);
}

}  // namespace quarry::sync
