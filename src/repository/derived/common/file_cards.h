// The files of many check-ins in little memory.
//
// Check-ins have nearly all their files in common with their neighbours. So each distinct F card is
// held once and has a number. The list of a check-in is cut in pieces of some 32 cards, at places
// that names choose, so that lists line up again after what only one of them has; each distinct
// piece is held once and has a number, too:
//
//   cards    0: README 1a2b   1: main.c 3c4d   2: main.c 5e6f   3: zoo.c 7a8b
//   pieces   0: [0 1]   1: [0 2]   2: [3]
//   lists    first check-in [0 2]   second, which changed main.c [1 2]
//
// Two lists with the same piece have the same files there: a comparison passes over it.
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
  /// The numbers of the pieces that FILES, in the order of their names, make.
  std::vector<std::uint32_t> pieces_of(const std::vector<artifact::FileCard>& files);

  const artifact::FileCard& card(std::uint32_t number) const { return cards_[number].file; }
  /// The numbers of the cards in the piece NUMBER; never empty.
  std::span<const std::uint32_t> piece(std::uint32_t number) const;
  /// Whether a card of the piece NUMBER tells an old name: it is a change wherever it stands.
  bool has_prior(std::uint32_t number) const { return pieces_[number].has_prior; }
  /// Bytes, roughly.
  std::size_t memory() const;

 private:
  struct Card {
    artifact::FileCard file;
    std::uint32_t hash;
    bool ends_piece;
  };
  struct Piece {
    std::size_t begin;  // in members_
    std::uint32_t size;
    std::uint32_t hash;
    bool has_prior;
  };
  /// Numbers by hash: open addressing, at most half full.
  struct Index {
    std::vector<std::uint32_t> slots;  // number + 1; 0: free
    std::size_t used = 0;
  };

  std::uint32_t number_of(const artifact::FileCard& file);
  std::uint32_t number_of(std::span<const std::uint32_t> piece);
  std::string_view keep(std::string_view text);
  template <typename IsSame, typename HashOf>
  static std::uint32_t& slot(Index& index, std::uint32_t hash, IsSame&& is_same, HashOf&& hash_of);

  std::deque<Card> cards_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> members_;  // the pieces' cards, one piece after the other
  Index card_index_, piece_index_;
  std::vector<std::unique_ptr<char[]>> texts_;
  std::size_t room_ = 0;  // left in the last of texts_
  std::size_t text_size_ = 0;
};

/// The F cards of one check-in, by name.
class FileList {
 public:
  FileList() = default;
  FileList(std::shared_ptr<FileCards> cards, const std::vector<artifact::FileCard>& files)
      : pieces_(cards->pieces_of(files)), cards_(std::move(cards)) {}

  /// The card for NAME; null if there is none.
  const artifact::FileCard* find(std::string_view name) const;
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const std::uint32_t piece : pieces_) {
      for (const std::uint32_t card : cards_->piece(piece)) visit(cards_->card(card));
    }
  }
  std::size_t memory() const { return sizeof *this + pieces_.capacity() * sizeof(std::uint32_t); }

  /// Goes along a list; can pass over what it has in common with another one.
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
    /// Whether both are at the begin of the same piece, in which no card tells an old name: then
    /// both pass over it.
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
