// Decodes the body of a request into cards, and encodes cards as the body of a reply.
//
//   application/x-fossil                the blob format of artifact/blob.h: size, then zlib
//   application/x-fossil-debug          plain
//   application/x-fossil-uncompressed   plain; only for replies to clones of version 3 or later
//
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::sync {

enum class BodyFormat : std::uint8_t { kCompressed, kPlain, kPlainClone };

/// Returns the format of a request with CONTENT_TYPE, or nullopt if the request is not a sync.
/// Ignores case and parameters after ';'.
std::optional<BodyFormat> request_format(std::string_view content_type);
std::string_view content_type_of(BodyFormat format);

/// Returns the decoded size that BODY declares, or 0 if it does not declare one.
std::size_t decoded_size(BodyFormat format, std::string_view body);

/// Returns the cards in BODY. If FORMAT is plain, the result is BODY itself. Otherwise, the cards
/// are decoded into STORAGE, which must outlive the result. Checks that the declared size is at
/// most MAX_SIZE before it allocates memory. WHAT names the body in messages. Errors: kInvalid
/// (broken compression), kLimit.
Result<std::string_view> decode_body(BodyFormat format, std::string_view body, std::size_t max_size,
                                     std::string& storage, std::string_view what = "request");
std::string encode_body(BodyFormat format, std::string&& cards);

}  // namespace quarry::sync
