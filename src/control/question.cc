#include "quarry/control/question.h"

#include "dialogue.h"

namespace quarry::control {

std::string_view text_of(Question question) {
  return question == Question::kFullStatus ? "status full" : "status";
}

std::optional<Question> parse_question(std::string_view line) {
  for (const Question question : {Question::kStatus, Question::kFullStatus}) {
    if (line == text_of(question)) return question;
  }
  return std::nullopt;
}

Result<std::string> ask(const base::SocketAddress& address, Question question,
                        std::chrono::milliseconds patience) {
  return converse({.program = "quarryd", .directive = "control.socket"}, address, text_of(question),
                  std::chrono::steady_clock::now() + patience);
}

}  // namespace quarry::control
