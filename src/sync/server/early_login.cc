#include "early_login.h"

#include <optional>
#include <string>
#include <utility>

#include "cards/card_reader.h"
#include "quarry/artifact/blob_reader.h"
#include "quarry/artifact/running_digest.h"

namespace quarry::sync {
namespace {

using artifact::BlobReader;
using artifact::RunningDigest;
using base::Result;

/// Reads a plain body in pieces, like BlobReader.
class PlainReader {
 public:
  explicit PlainReader(std::string_view body) : left_(body) {}
  Result<std::string_view> next() {
    const std::string_view piece = left_.substr(0, BlobReader::kPiece);
    left_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view left_;
};

std::optional<RunningDigest> digest_for(std::string_view nonce) {
  if (nonce.size() == 40) return RunningDigest::sha1();
  if (nonce.size() == 64) return RunningDigest::sha3_256();
  return std::nullopt;
}

/// Whether NONCE is the hash of FIRST and the rest of READER.
template <typename Reader>
Result<bool> is_hash_of_rest(std::string_view nonce, std::string_view first, Reader& reader,
                             Bound& bound) {
  auto digest = digest_for(nonce);
  if (!digest) return false;
  digest->add(first);
  while (true) {
    QUARRY_TRY_ASSIGN(const std::string_view piece, reader.next());
    if (piece.empty()) return digest->hex() == nonce;
    QUARRY_TRY(bound.check());
    digest->add(piece);
  }
}

template <typename Reader>
Result<bool> check_login(SyncUser& sync_user, std::string_view cookie, Reader& reader,
                         Bound& bound) {
  QUARRY_TRY_ASSIGN(const std::string_view first, reader.next());
  const auto card = SyncUser::login_in(cookie);
  if (card) {
    return sync_user.proves(*card, [&](std::string_view nonce) {
      return is_hash_of_rest(nonce, first, reader, bound);
    });
  }
  CardReader cards(first);
  const auto read = cards.next();
  if (!read || !*read || cards.type() != CardType::kLogin) return false;
  const LoginCard login{std::string(cards[1]), std::string(cards[2]), std::string(cards[3])};
  return sync_user.proves(login, [&](std::string_view nonce) {
    return is_hash_of_rest(nonce, cards.rest(), reader, bound);
  });
}

}  // namespace

Result<bool> is_from_user(SyncUser& sync_user, const Request& request, BodyFormat format,
                          std::size_t max_body, Bound& bound) {
  sync_user.remote_user(request.remote_user);
  if (sync_user.login_name()) return true;
  if (format != BodyFormat::kCompressed) {
    PlainReader reader(request.body);
    return check_login(sync_user, request.cookie, reader, bound);
  }
  QUARRY_TRY_ASSIGN(BlobReader reader, BlobReader::open(request.body, max_body));
  return check_login(sync_user, request.cookie, reader, bound);
}

}  // namespace quarry::sync
