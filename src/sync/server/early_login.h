// Checks the login of a request that is too large to be decompressed for an anonymous client: half
// a megabyte of compressed data can expand to half a gigabyte.
//
// A login card contains a hash of all bytes after the card, and a signature of this hash. The
// signature is checked first. For this check, only the beginning of the body is decompressed, so a
// client without a password cannot cause more work. If the signature is correct, the rest of the
// body is decompressed in pieces, and its hash is compared with the hash in the card.
//
// The login must be in the x-f-l-c cookie or in the first card of the body, as in fossil. Used by
// ServerSession.
#pragma once

#include <cstddef>

#include "cards/body.h"
#include "cards/bound.h"
#include "quarry/base/result.h"
#include "quarry/sync/request.h"
#include "sync_user.h"

namespace quarry::sync {

/// Returns whether REQUEST is from a known user: the web server has authenticated the user, or
/// REQUEST has a valid login of a user with a password. FORMAT is the format of the body. The
/// decoded body can have at most MAX_BODY bytes. Errors: kDenied (failed login), kInvalid (broken
/// compression), kLimit (BOUND).
Result<bool> is_from_user(SyncUser& sync_user, const Request& request, BodyFormat format,
                          std::size_t max_body, Bound& bound);

}  // namespace quarry::sync
