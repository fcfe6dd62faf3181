// A compact store for the file lists of many check-ins.
//
// A check-in has nearly all files in common with its parents and children. Therefore, each distinct
// F card is stored only once, with a number. The list of a check-in is divided into pieces of about
// 32 cards. The hashes of file names determine the ends of the pieces. Two lists that differ in one
// place therefore have equal pieces before and after that place. Each distinct piece is also stored
// only once, with a number:
//
//   cards    0: README 1a2b   1: main.c 3c4d   2: main.c 5e6f   3: zoo.c 7a8b
//   pieces   0: [0 1]   1: [0 2]   2: [3]
//   lists    first check-in: [0 2]   second check-in, with a changed main.c: [1 2]
//
// A comparison of two lists skips pieces that both contain.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quarry/artifact/structural.h"

namespace quarry::repository {

class FileCards {
 public:
  /// Divides FILES, which are sorted by name, into pieces, and returns the numbers of the pieces.
  std::vector<std::uint32_t> pieces_of(const std::vector<artifact::FileCard>& files);

  const artifact::FileCard& card(std::uint32_t number) const { return cards_[number].file; }
  /// Returns the numbers of the cards in the piece NUMBER. A piece is never empty.
  std::span<const std::uint32_t> piece(std::uint32_t number) const;
  /// Returns whether a card of the piece NUMBER has an old name. Such a card is a change even if
  /// both compared lists contain it.
  bool has_prior(std::uint32_t number) const { return pieces_[number].has_prior; }
  /// Returns the approximate size in bytes.
  std::size_t memory() const;

 private:
  struct Card {
    artifact::FileCard file;
    std::uint32_t hash;
    bool ends_piece;
  };
  struct Piece {
    std::size_t begin;  // position in members_
    std::uint32_t size;
    std::uint32_t hash;
    bool has_prior;
  };
  /// A hash table of numbers with open addressing. At most half of the slots are used.
  struct Index {
    std::vector<std::uint32_t> slots;  // number + 1; 0 if free
    std::size_t used = 0;
  };

  std::uint32_t number_of(const artifact::FileCard& file);
  std::uint32_t number_of(std::span<const std::uint32_t> piece);
  std::string_view keep(std::string_view text);
  template <typename IsSame, typename HashOf>
  static std::uint32_t& slot(Index& index, std::uint32_t hash, IsSame&& is_same, HashOf&& hash_of);

  std::deque<Card> cards_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> members_;  // the cards of all pieces
  Index card_index_, piece_index_;
  std::vector<std::unique_ptr<char[]>> texts_;
  std::size_t room_ = 0;  // free space in the last element of texts_
  std::size_t text_size_ = 0;
};

/// The F cards of one check-in, sorted by name.
class FileList {
 public:
  FileList() = default;
  FileList(std::shared_ptr<FileCards> cards, const std::vector<artifact::FileCard>& files)
      : pieces_(cards->pieces_of(files)), cards_(std::move(cards)) {}

  /// Returns the card for NAME, or null if there is none.
  const artifact::FileCard* find(std::string_view name) const;
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const std::uint32_t piece : pieces_) {
      for (const std::uint32_t card : cards_->piece(piece)) visit(cards_->card(card));
    }
  }
  std::size_t memory() const { return sizeof *this + pieces_.capacity() * sizeof(std::uint32_t); }

  /// Iterates over a list. Can skip pieces that another list also contains.
  class Cursor {
   public:
    explicit Cursor(const FileList& list) : list_(list) {}
    bool at_end() const { return piece_ == list_.pieces_.size(); }
    const artifact::FileCard& card() const { return list_.cards_->card(number()); }
    void advance() {
      if (++at_ < members().size()) return;
      at_ = 0;
      ++piece_;
    }
    /// If both cursors are at the start of the same piece, skips the piece in both lists and
    /// returns true. Does not skip a piece that has a card with an old name.
    bool pass_same(Cursor& other);

   private:
    std::span<const std::uint32_t> members() const {
      return list_.cards_->piece(list_.pieces_[piece_]);
    }
    std::uint32_t number() const { return members()[at_]; }

    const FileList& list_;
    std::size_t piece_ = 0;
    std::size_t at_ = 0;
  };

 private:
  std::vector<std::uint32_t> pieces_;
  std::shared_ptr<FileCards> cards_;
};

}  // namespace quarry::repository
