// Reads the cards of one structural artifact into a Structural. One function a card, and no fewer
// than there are cards.
#pragma once

#include <cstdint>
#include <span>

#include "card_text.h"
#include "quarry/artifact/structural.h"

namespace quarry::artifact {

class CardParser {
 public:
  /// TEXT, without any signature and with its Z card verified, stays where it is as long as OUT.
  CardParser(std::span<char> text, Structural& out) : size_(text.size()), text_(text), out_(out) {}

  /// False: the text is plain data.
  bool parse() { return parse_cards() && settle_type(); }
  /// The same, but for the type, which some cards that are left out may have told.
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
  bool settle_type();

  std::size_t size_;
  CardText text_;
  Structural& out_;
  std::uint32_t seen_ = 0;  // a bit for each letter
  bool has_self_tag_ = false;
};

}  // namespace quarry::artifact
