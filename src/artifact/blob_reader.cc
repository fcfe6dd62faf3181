#include "quarry/artifact/blob_reader.h"

#include <zlib.h>

#include <array>
#include <new>

#include "quarry/artifact/blob.h"

namespace quarry::artifact {

// Uses zlib, unlike blob.cc: libdeflate cannot decompress a blob in pieces.
struct BlobReader::State {
  State() {
    if (::inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ::inflateEnd(&stream); }

  z_stream stream{};
  std::size_t left = 0;  // remaining bytes of the declared size
  bool is_over = false;
  std::array<unsigned char, kPiece> piece;
};

BlobReader::BlobReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
BlobReader::BlobReader(BlobReader&& other) noexcept = default;
BlobReader& BlobReader::operator=(BlobReader&& other) noexcept = default;
BlobReader::~BlobReader() = default;

Result<BlobReader> BlobReader::open(std::string_view blob, std::size_t max_size) {
  QUARRY_TRY_ASSIGN(const std::uint32_t declared, blob_declared_size(blob));
  if (declared > max_size) {
    return fail(ErrorCode::kLimit,
                "compressed content declares a size of {}, more than the limit of {}", declared,
                max_size);
  }
  blob.remove_prefix(kBlobPrefixSize);
  if (blob.size() > UINT_MAX) {
    return fail(ErrorCode::kLimit, "compressed content is {} bytes long, more than zlib supports",
                blob.size());
  }
  auto state = std::make_unique<State>();
  state->left = declared;
  // The cast is safe, because zlib does not write to its input.
  state->stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(blob.data()));
  state->stream.avail_in = static_cast<unsigned>(blob.size());
  return BlobReader(std::move(state));
}

Result<std::string_view> BlobReader::next() {
  State& state = *state_;
  if (state.is_over) return std::string_view();
  z_stream& stream = state.stream;
  stream.next_out = state.piece.data();
  stream.avail_out = kPiece;
  const int result = ::inflate(&stream, Z_NO_FLUSH);
  state.is_over = result != Z_OK || stream.avail_out > 0;
  const std::size_t made = kPiece - stream.avail_out;
  const bool has_ended = result == Z_STREAM_END;
  if (made > state.left || (has_ended && made < state.left)) {
    state.is_over = true;
    return fail(ErrorCode::kInvalid, "compressed content does not expand to the declared size");
  }
  if ((result != Z_OK && !has_ended) || (state.is_over && !has_ended)) {
    return fail(ErrorCode::kInvalid, "compressed content is not a complete zlib stream");
  }
  if (has_ended && stream.avail_in > 0) {
    return fail(ErrorCode::kInvalid, "{} bytes after the end of a zlib stream", stream.avail_in);
  }
  state.left -= made;
  return std::string_view(reinterpret_cast<const char*>(state.piece.data()), made);
}

}  // namespace quarry::artifact
