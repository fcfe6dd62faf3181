// The server's side of a sync: reads the cards of a request and writes the cards of the reply.
//
// A session is one HTTP request. All state between requests is in the repository. A session runs in
// a worker, but does not depend on FastCGI, HTTP or processes.
//
//   1. If the request is too large for an anonymous client, check the login (early_login.h).
//   2. Decode the body (x-fossil: size and zlib; x-fossil-debug: plain).
//   3. Process the cards in one pass inside a snapshot. If a card has to write, repeat the pass
//      inside a write transaction. Therefore, pulls and empty syncs never take the write lock.
//   4. Commit, then send the reply. Data that the reply acknowledges is already durable.
#pragma once

#include <string>
#include <string_view>

#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

/// Answers REQUEST. Bad input never causes an exception. Instead, the reply has an `error` card or
/// a 4xx status.
Reply answer(repository::Repository& repository, const SessionOptions& options,
             const Request& request);

/// Returns the reply to a request of CONTENT_TYPE that is rejected unread. WHY is sent both as a
/// message and as an error.
Reply refusal_reply(repository::Repository& repository, std::string_view content_type,
                    const std::string& why);

}  // namespace quarry::sync
