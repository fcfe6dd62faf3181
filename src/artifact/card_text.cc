#include "card_text.h"

namespace quarry::artifact {

std::optional<char> CardText::next_card() {
  if (!at_end_of_card_ || rest_.size() < 2) return std::nullopt;
  if (rest_[1] != ' ' && rest_[1] != '\n') return std::nullopt;
  const char letter = rest_[0];
  at_end_of_card_ = rest_[1] == '\n';
  rest_ = rest_.subspan(2);
  return letter;
}

std::optional<Argument> CardText::next_argument() {
  if (at_end_of_card_) return std::nullopt;
  std::size_t size = 0;
  while (rest_[size] != ' ' && rest_[size] != '\n' && rest_[size] != '\0') ++size;
  const Argument argument = rest_.first(size);
  at_end_of_card_ = rest_[size] == '\n';
  rest_ = rest_.subspan(size + 1);
  return argument;
}

std::optional<Argument> CardText::take_lines(std::size_t size) {
  if (!at_end_of_card_ || size + 1 >= rest_.size() || rest_[size] != '\n') return std::nullopt;
  const Argument lines = rest_.first(size);
  rest_ = rest_.subspan(size + 1);
  return lines;
}

}  // namespace quarry::artifact
