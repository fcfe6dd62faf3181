// What a person's tool asks a running master, over the Unix socket that the master listens on.
//
//   client                       master
//   "status\n"  ───────────────>
//               <───────────────  one JSON document and a line end; the end of the connection
//
// One question a connection; there is nothing that changes anything. A document that is an object
// with the member "error" says why there is no answer. The master takes neither a longer question
// than kMostQuestion nor a longer time than kPatience for all of it.
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

/// With the end of its line.
constexpr std::size_t kMostQuestion = 64;
constexpr std::chrono::seconds kPatience{5};

std::string_view text_of(Question question);
/// The question that LINE, without its end, asks; nothing for all else.
std::optional<Question> parse_question(std::string_view line);

/// Asks the master that listens on ADDRESS, a Unix socket, and returns what it says. Errors:
/// kNotFound (no master is there), kDenied, kBusy (it does not answer within PATIENCE), kLimit (it
/// talks without end), kIo.
base::Result<std::string> ask(const base::SocketAddress& address, Question question,
                              std::chrono::milliseconds patience = kPatience);

}  // namespace quarry::control
