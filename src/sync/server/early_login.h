// Checks the login of a request that is too large to be decompressed for an anonymous client.
//
// A login signs the hash of everything after it, which may be half a gigabyte that was compressed
// to half a megabyte. So the signature is checked first, with the hash that the login states. That
// takes only the first card, so a client without a password cannot cause more work. Then the hash
// is computed while the body is decompressed piece by piece.
//
// The login must be in the x-f-l-c cookie or in the first card of the body, where clients put it.
// Used by ServerSession.
#pragma once

#include <cstddef>

#include "cards/body.h"
#include "cards/bound.h"
#include "quarry/base/result.h"
#include "quarry/sync/request.h"
#include "sync_user.h"

namespace quarry::sync {

/// Whether REQUEST has a login of a user with a password. FORMAT is the format of its body, which
/// may have at most MAX_BODY bytes. Errors: kDenied (failed login), kInvalid (broken compression),
/// kLimit (BOUND).
base::Result<bool> is_from_user(SyncUser& sync_user, const Request& request, BodyFormat format,
                                std::size_t max_body, Bound& bound);

}  // namespace quarry::sync
