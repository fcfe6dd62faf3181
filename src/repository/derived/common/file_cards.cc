#include "file_cards.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

namespace quarry::repository {

using artifact::FileCard;

namespace {

constexpr std::uint32_t kCardsPerPiece = 32;  // approximate; must be a power of two
constexpr std::size_t kMaxCardsPerPiece = std::size_t{kCardsPerPiece} * 4;
constexpr std::size_t kTextBlock = std::size_t{1} << 18;

std::size_t hash_of(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

std::uint32_t folded(std::size_t hash) {
  const std::uint64_t mixed = hash * 0x9E3779B97F4A7C15U;
  return static_cast<std::uint32_t>(mixed >> 32);
}

bool is_same_file(const FileCard& a, const FileCard& b) {
  return a.name == b.name && a.hash == b.hash && a.permission == b.permission && a.prior == b.prior;
}

}  // namespace

/// Returns the slot with the number for which IS_SAME returns true. Returns a free slot if IS_SAME
/// does not return true for any number. HASH_OF_NUMBER returns the hash for a number.
template <typename IsSame, typename HashOf>
std::uint32_t& FileCards::slot(Index& index, std::uint32_t hash, IsSame&& is_same,
                               HashOf&& hash_of_number) {
  if (index.used * 2 >= index.slots.size()) {
    std::vector<std::uint32_t> larger(std::max<std::size_t>(1024, index.slots.size() * 2));
    for (const std::uint32_t held : index.slots) {
      if (held == 0) continue;
      std::size_t at = hash_of_number(held - 1) & (larger.size() - 1);
      while (larger[at] != 0) at = (at + 1) & (larger.size() - 1);
      larger[at] = held;
    }
    index.slots = std::move(larger);
  }
  const std::size_t mask = index.slots.size() - 1;
  std::size_t at = hash & mask;
  while (index.slots[at] != 0 &&
         (hash_of_number(index.slots[at] - 1) != hash || !is_same(index.slots[at] - 1))) {
    at = (at + 1) & mask;
  }
  return index.slots[at];
}

std::string_view FileCards::keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > room_) {
    room_ = std::max(kTextBlock, text.size());
    texts_.push_back(std::make_unique_for_overwrite<char[]>(room_));
    text_size_ += room_;
    // A block is filled from its end, so room_ is also the position at which its free space ends.
  }
  room_ -= text.size();
  char* const place = texts_.back().get() + room_;
  std::memcpy(place, text.data(), text.size());
  return {place, text.size()};
}

std::uint32_t FileCards::number_of(const FileCard& file) {
  const std::size_t name_hash = hash_of(file.name);
  const std::uint32_t hash =
      folded(name_hash ^ (hash_of(file.hash) * 31) ^ static_cast<std::size_t>(file.permission));
  std::uint32_t& found = slot(
      card_index_, hash, [&](std::uint32_t at) { return is_same_file(cards_[at].file, file); },
      [&](std::uint32_t at) { return cards_[at].hash; });
  if (found == 0) {
    if (cards_.size() >= std::numeric_limits<std::uint32_t>::max() - 1) {
      throw std::length_error("more than 2^32 different files");
    }
    const FileCard kept{.name = keep(file.name),
                        .hash = keep(file.hash),
                        .prior = keep(file.prior),
                        .permission = file.permission};
    cards_.push_back({kept, hash, folded(name_hash) % kCardsPerPiece == 0});
    ++card_index_.used;
    found = static_cast<std::uint32_t>(cards_.size());
  }
  return found - 1;
}

std::uint32_t FileCards::number_of(std::span<const std::uint32_t> piece) {
  const std::uint32_t hash =
      folded(hash_of({reinterpret_cast<const char*>(piece.data()), piece.size_bytes()}));
  std::uint32_t& found = slot(
      piece_index_, hash,
      [&](std::uint32_t at) { return std::ranges::equal(this->piece(at), piece); },
      [&](std::uint32_t at) { return pieces_[at].hash; });
  if (found == 0) {
    const bool has_prior = std::ranges::any_of(
        piece, [&](std::uint32_t number) { return !card(number).prior.empty(); });
    pieces_.push_back({members_.size(), static_cast<std::uint32_t>(piece.size()), hash, has_prior});
    members_.insert(members_.end(), piece.begin(), piece.end());
    ++piece_index_.used;
    found = static_cast<std::uint32_t>(pieces_.size());
  }
  return found - 1;
}

std::vector<std::uint32_t> FileCards::pieces_of(const std::vector<FileCard>& files) {
  std::vector<std::uint32_t> pieces, piece;
  pieces.reserve(files.size() / kCardsPerPiece + 4);
  for (const FileCard& file : files) {
    piece.push_back(number_of(file));
    if (!cards_[piece.back()].ends_piece && piece.size() < kMaxCardsPerPiece) continue;
    pieces.push_back(number_of(piece));
    piece.clear();
  }
  if (!piece.empty()) pieces.push_back(number_of(piece));
  return pieces;
}

std::span<const std::uint32_t> FileCards::piece(std::uint32_t number) const {
  const Piece& piece = pieces_[number];
  return std::span(members_).subspan(piece.begin, piece.size);
}

std::size_t FileCards::memory() const {
  return text_size_ + cards_.size() * sizeof(Card) + pieces_.capacity() * sizeof(Piece) +
         (members_.capacity() + card_index_.slots.size() + piece_index_.slots.size()) *
             sizeof(std::uint32_t);
}

const FileCard* FileList::find(std::string_view name) const {
  const auto first_name = [&](std::uint32_t piece) {
    return cards_->card(cards_->piece(piece).front()).name;
  };
  const auto after = std::ranges::upper_bound(pieces_, name, std::less<>(), first_name);
  if (after == pieces_.begin()) return nullptr;
  const auto members = cards_->piece(*(after - 1));
  const auto at = std::ranges::lower_bound(
      members, name, std::less<>(), [&](std::uint32_t card) { return cards_->card(card).name; });
  if (at == members.end() || cards_->card(*at).name != name) return nullptr;
  return &cards_->card(*at);
}

bool FileList::Cursor::pass_same(Cursor& other) {
  if (at_ != 0 || other.at_ != 0 || list_.cards_ != other.list_.cards_) return false;
  const std::uint32_t piece = list_.pieces_[piece_];
  if (piece != other.list_.pieces_[other.piece_] || list_.cards_->has_prior(piece)) return false;
  ++piece_;
  ++other.piece_;
  return true;
}

}  // namespace quarry::repository
