// Whether a user sends a request that is too large to be expanded for nobody.
//
// A login signs the hash of everything that follows it, which may be half a gigabyte that half a
// megabyte expands to. So its signature is looked at first, which is over that hash as the login
// states it: for this the first card is enough, and who knows no password has no more done for him.
// Then the hash is computed over the body while it expands, of which a piece is held at a time.
//
// What counts is the x-f-l-c cookie, or a login that is the body's first card; clients put it
// there. Used by ServerSession.
#pragma once

#include <cstddef>

#include "cards/body.h"
#include "cards/bound.h"
#include "quarry/base/result.h"
#include "quarry/sync/request.h"
#include "sync_user.h"

namespace quarry::sync {

/// Whether VISITOR is somebody, by a login in REQUEST, whose body in FORMAT has at most MAX_BODY
/// bytes. Errors: kDenied (a login that fails), kInvalid (broken compression), kLimit (BOUND).
base::Result<bool> is_from_user(SyncUser& sync_user, const Request& request, BodyFormat format,
                                std::size_t max_body, Bound& bound);

}  // namespace quarry::sync
