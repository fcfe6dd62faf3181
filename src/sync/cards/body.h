// How the bytes of a request become cards, and cards the bytes of a reply.
//
//   application/x-fossil                the blob format of artifact/blob.h: size, then zlib
//   application/x-fossil-debug          plain
//   application/x-fossil-uncompressed   plain; replies only, to a granted clone of version 3 on
//
// Used by ServerSession.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::sync {

enum class BodyFormat : std::uint8_t { kCompressed, kPlain, kPlainClone };

/// The format that a request's CONTENT_TYPE announces, nothing if that is no sync request.
/// Parameters after ';' do not count, nor does the case of letters.
std::optional<BodyFormat> request_format(std::string_view content_type);
std::string_view content_type_of(BodyFormat format);

/// How many bytes the cards in BODY are, as it declares them; 0 where it declares nothing.
std::size_t decoded_size(BodyFormat format, std::string_view body);

/// The cards in BODY. Where they are plain the result is BODY itself; otherwise they are put into
/// STORAGE, which must outlive the result. Nothing is allocated before the declared size was found
/// to be at most MAX_SIZE. WHAT it is the body of stands in messages. Errors: kInvalid (broken
/// compression), kLimit.
base::Result<std::string_view> decode_body(BodyFormat format, std::string_view body,
                                           std::size_t max_size, std::string& storage,
                                           std::string_view what = "request");
std::string encode_body(BodyFormat format, std::string&& cards);

}  // namespace quarry::sync
