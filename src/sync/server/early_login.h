// Checks the login of a request that is too large to be decompressed for an anonymous client.
//
// A login signs the hash of all bytes after it. Half a megabyte of compressed data can expand to
// half a gigabyte. Therefore, the signature is checked first, with the hash in the login card. For
// this check, only the first card is decompressed, so a client without a password cannot cause more
// work. Then the hash is computed while the body is decompressed in pieces.
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

/// Returns whether REQUEST has a valid login of a user with a password. FORMAT is the format of the
/// body, which is limited to MAX_BODY bytes. Errors: kDenied (failed login), kInvalid (broken
/// compression), kLimit (BOUND).
base::Result<bool> is_from_user(SyncUser& sync_user, const Request& request, BodyFormat format,
                                std::size_t max_body, Bound& bound);

}  // namespace quarry::sync
