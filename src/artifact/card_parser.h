// Parses the cards of one structural artifact into a Structural.
#pragma once

#include <cstdint>
#include <span>

#include "card_text.h"
#include "quarry/artifact/structural.h"

namespace quarry::artifact {

class CardParser {
 public:
  /// TEXT must outlive OUT, must not have a signature, and must have a verified Z card.
  CardParser(std::span<char> text, Structural& out) : size_(text.size()), text_(text), out_(out) {}

  /// Returns false if the text is plain data.
  bool parse() { return parse_cards() && find_type(); }
  /// Like parse(), but does not determine the type. The type can depend on cards that were removed
  /// from TEXT.
  bool parse_cards();

 private:
  bool may_follow(char previous, char letter) const;
  bool parse_card(char letter);

  bool attachment();    // A
  bool date();          // D
  bool technote();      // E
  bool file();          // F
  bool ticket_field();  // J
  bool ticket();        // K
  bool member();        // M
  bool parents();       // P
  bool cherrypick();    // Q
  bool tag();           // T
  bool user();          // U
  bool text();          // W

  bool read_file(FileCard& card);
  bool one_hash(std::string_view& field);
  bool one_md5(std::string_view& field);
  bool one_text(std::string_view& field);
  bool accept_hash(Argument argument, std::string_view& field);
  bool tags_ascend() const;
  bool find_type();

  std::size_t size_;
  CardText text_;
  Structural& out_;
  std::uint32_t seen_ = 0;  // a bit per letter
  bool has_self_tag_ = false;
};

}  // namespace quarry::artifact
