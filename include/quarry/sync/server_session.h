// The server's side of one sync exchange: cards in, cards out.
//
// A session is one HTTP request. Nothing is remembered between requests but what is in the file.
// It runs in a worker; it knows nothing of FastCGI, HTTP or processes.
//
//   look who sends it, where it is too large for nobody (early_login.h)
//   decode the body (x-fossil: size + zlib; x-fossil-debug: plain)
//   read the cards in one pass inside a snapshot; the first card that has to write starts the pass
//   again inside a write transaction, so that pulls and empty syncs never ask for the write lock
//   commit, then hand the reply over: what the client is told is there, is there
#pragma once

#include <string>
#include <string_view>

#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"

namespace quarry::sync {

class ServerSession {
 public:
  /// Neither is owned; both must outlive the session.
  ServerSession(repository::Repository& repository, const SessionOptions& options);

  /// The reply to a request of CONTENT_TYPE that is not looked at: a message and an error, both
  /// WHY.
  Reply turn_away(std::string_view content_type, const std::string& why) const;

  /// Answers REQUEST. Never throws for bad input: that is an `error` card or a 4xx status.
  Reply answer(const Request& request);

 private:
  repository::Repository& repository_;
  const SessionOptions& options_;
};

}  // namespace quarry::sync
