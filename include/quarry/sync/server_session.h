// The server's side of one sync exchange: reads the cards of a request and writes those of the
// reply.
//
// A session is one HTTP request. The repository holds the only state between requests. A session
// runs in a worker and does not depend on FastCGI, HTTP or processes.
//
//   check the login first if the request is too large for an anonymous client (early_login.h)
//   decode the body (x-fossil: size + zlib; x-fossil-debug: plain)
//   process the cards in one pass inside a snapshot; the first card that has to write restarts the
//   pass inside a write transaction, so that pulls and empty syncs never take the write lock
//   commit, then send the reply: what the client learns is already durable
#pragma once

#include <string>
#include <string_view>

#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

/// Answers REQUEST. Bad input never causes an exception: the reply is an `error` card or a 4xx
/// status.
Reply answer(repository::Repository& repository, const SessionOptions& options,
             const Request& request);

/// The reply to a request of CONTENT_TYPE that is refused without processing it. WHY is sent both
/// as a message and as an error.
Reply refusal_reply(repository::Repository& repository, std::string_view content_type,
                    const std::string& why);

}  // namespace quarry::sync
