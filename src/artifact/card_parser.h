// Parses the cards of one structural artifact into a Structural, with one function per card.
#pragma once

#include <cstdint>
#include <span>

#include "card_text.h"
#include "quarry/artifact/structural.h"

namespace quarry::artifact {

class CardParser {
 public:
  /// TEXT must outlive OUT, have no signature, and have a verified Z card.
  CardParser(std::span<char> text, Structural& out) : size_(text.size()), text_(text), out_(out) {}

  /// Returns false if the text is plain data.
  bool parse() { return parse_cards() && find_type(); }
  /// The same without finding the type, which may depend on cards that were removed.
  bool parse_cards();

 private:
  bool may_follow(char previous, char letter) const;
  bool parse_card(char letter);

  bool attachment();    // A
  bool baseline();      // B
  bool comment();       // C
  bool date();          // D
  bool technote();      // E
  bool file();          // F
  bool thread_root();   // G
  bool thread_title();  // H
  bool in_reply_to();   // I
  bool ticket_field();  // J
  bool ticket();        // K
  bool wiki_title();    // L
  bool member();        // M
  bool mimetype();      // N
  bool parents();       // P
  bool cherrypick();    // Q
  bool checksum();      // R
  bool tag();           // T
  bool user();          // U
  bool text();          // W
  bool end_checksum();  // Z

  bool read_file(FileCard& card);
  bool one_hash(std::string_view& field);
  bool one_text(std::string_view& field);
  bool accept_hash(Argument argument, std::string_view& field);
  bool tags_ascend() const;
  bool find_type();

  std::size_t size_;
  CardText text_;
  Structural& out_;
  std::uint32_t seen_ = 0;  // one bit per letter
  bool has_self_tag_ = false;
};

}  // namespace quarry::artifact
