// Queries of the running master by command line tools, over the master's Unix socket.
//
//   client                       master
//   "status\n"  ───────────────>
//               <───────────────  one JSON document and a newline; then the connection is closed
//
// Each connection carries one query, and no query changes anything. If a query fails, the document
// is an object with the member "error". The master accepts queries of up to kMaxQuestion bytes and
// closes a connection that is silent for kPatience.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::control {

enum class Question {
  kStatus,      // all pools
  kFullStatus,  // with all their children
};

/// Bytes, including the newline.
constexpr std::size_t kMaxQuestion = 64;
constexpr std::chrono::seconds kPatience{5};

std::string_view text_of(Question question);
/// Parses LINE, which has no newline; nullopt if it is not a question.
std::optional<Question> parse_question(std::string_view line);

/// Asks the master that listens on the Unix socket ADDRESS and returns its reply. Errors: kNotFound
/// (no master is running), kDenied, kBusy (no reply within PATIENCE), kLimit (the reply is too
/// long), kIo.
base::Result<std::string> ask(const base::SocketAddress& address, Question question,
                              std::chrono::milliseconds patience = kPatience);

}  // namespace quarry::control
