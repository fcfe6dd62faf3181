// Reads a structural artifact as a stream of card letters and arguments. The text is the
// Structural's own copy, and arguments are mutable, so that they can be unescaped in place.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace quarry::artifact {

using Argument = std::span<char>;

inline std::string_view view(Argument argument) {
  return {argument.data(), argument.size()};
}

class CardText {
 public:
  /// TEXT must end in a newline.
  explicit CardText(std::span<char> text) : rest_(text) {}

  /// Returns the letter of the next card. At the end of the text, returns nullopt, and finished()
  /// is true. If the previous card has unread arguments, or if the letter is not followed by a
  /// space or newline, returns nullopt, and finished() is false.
  std::optional<char> next_card();

  /// Returns the next argument of the current card, or nullopt if there is none. An argument ends
  /// at a space, a newline or, as in fossil, a NUL.
  std::optional<Argument> next_argument();

  /// Reads the SIZE bytes of text that follow the current card, and the newline after them. Returns
  /// nullopt if the card has unread arguments, if the newline is missing, or if the artifact ends
  /// with this newline.
  std::optional<Argument> take_lines(std::size_t size);

  bool at_end_of_card() const { return at_end_of_card_; }
  bool finished() const { return rest_.empty() && at_end_of_card_; }

 private:
  std::span<char> rest_;
  bool at_end_of_card_ = true;
};

}  // namespace quarry::artifact
