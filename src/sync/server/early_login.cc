#include "early_login.h"

#include <functional>
#include <optional>

#include "cards/card_reader.h"
#include "quarry/artifact/blob_reader.h"
#include "quarry/artifact/running_digest.h"

namespace quarry::sync {
namespace {

using artifact::BlobReader;
using artifact::RunningDigest;

/// Returns the next piece of a decoded body, or an empty string at the end.
using NextPiece = std::function<Result<std::string_view>()>;

std::optional<RunningDigest> digest_for(std::string_view nonce) {
  if (nonce.size() == 40) return RunningDigest::sha1();
  if (nonce.size() == 64) return RunningDigest::sha3_256();
  return std::nullopt;
}

/// Returns whether NONCE is the hash of FIRST and all further pieces.
Result<bool> is_hash_of_rest(std::string_view nonce, std::string_view first, const NextPiece& next,
                             Bound& bound) {
  auto digest = digest_for(nonce);
  if (!digest) return false;
  digest->add(first);
  while (true) {
    QUARRY_TRY_ASSIGN(const std::string_view piece, next());
    if (piece.empty()) return digest->hex() == nonce;
    QUARRY_TRY(bound.check());
    digest->add(piece);
  }
}

Result<bool> check_login(SyncUser& sync_user, std::string_view cookie, const NextPiece& next,
                         Bound& bound) {
  QUARRY_TRY_ASSIGN(const std::string_view first, next());
  const auto card = LoginCard::in_cookie(cookie);
  if (card) {
    return sync_user.proves(
        *card, [&](std::string_view nonce) { return is_hash_of_rest(nonce, first, next, bound); });
  }
  CardReader cards(first);
  const auto read = cards.next();
  if (!read || !*read || cards.type() != CardType::kLogin) return false;
  return sync_user.proves(LoginCard::of(cards), [&](std::string_view nonce) {
    return is_hash_of_rest(nonce, cards.rest(), next, bound);
  });
}

}  // namespace

Result<bool> is_from_user(SyncUser& sync_user, const Request& request, BodyFormat format,
                          std::size_t max_body, Bound& bound) {
  sync_user.remote_user(request.remote_user);
  if (sync_user.login_name()) return true;
  if (format != BodyFormat::kCompressed) {
    std::string_view left = request.body;
    const auto next = [&left]() -> Result<std::string_view> {
      const std::string_view piece = left.substr(0, BlobReader::kPiece);
      left.remove_prefix(piece.size());
      return piece;
    };
    return check_login(sync_user, request.cookie, next, bound);
  }
  QUARRY_TRY_ASSIGN(BlobReader reader, BlobReader::open(request.body, max_body));
  return check_login(
      sync_user, request.cookie, [&reader] { return reader.next(); }, bound);
}

}  // namespace quarry::sync
