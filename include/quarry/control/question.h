// Command line tools query the running master over its Unix socket.
//
//   client                       master
//   "status\n"  ───────────────>
//               <───────────────  one JSON document and a newline; then the connection is closed
//
// Each connection carries one query. Queries do not change anything. If a query fails, the document
// is an object with the member "error". The master accepts queries of up to kMaxQuestion bytes. A
// connection that sends nothing for kPatience is closed.
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
  kStatus,      // status of all pools
  kFullStatus,  // status of all pools and their children
};

/// Maximum length of a query in bytes, including the newline.
constexpr std::size_t kMaxQuestion = 64;
constexpr std::chrono::seconds kPatience{5};

std::string_view text_of(Question question);
/// Parses LINE, without a newline. Returns nullopt if LINE is not a query.
std::optional<Question> parse_question(std::string_view line);

/// Sends a query to the master that listens on the Unix socket ADDRESS, and returns the reply.
/// Errors: kNotFound (no master is running), kDenied, kBusy (no reply within PATIENCE), kLimit (the
/// reply is too long), kIo.
Result<std::string> ask(const base::SocketAddress& address, Question question,
                        std::chrono::milliseconds patience = kPatience);

}  // namespace quarry::control
