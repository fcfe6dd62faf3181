#include "quarry/scoreboard/scoreboard.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "quarry/scoreboard/login_limiter.h"
#include "shared_memory.h"
#include "shared_state.h"

namespace quarry::scoreboard {
namespace {

constexpr std::uint32_t kMagic = 0x51425264;  // "QBRd"
constexpr std::uint32_t kLayoutVersion = 9;

struct alignas(64) BoardHeader {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t slot_count;
  std::uint32_t slot_size;
  FixedText<64> pool;
};

constexpr std::size_t kLeasesOffset = sizeof(BoardHeader) + sizeof(PoolMemory);
constexpr std::size_t kRefusalsOffset = kLeasesOffset + sizeof(LeaseMemory);
constexpr std::size_t kSlotsOffset = kRefusalsOffset + sizeof(RefusalMemory);
static_assert(sizeof(BoardHeader) % alignof(PoolMemory) == 0);
static_assert(kLeasesOffset % alignof(LeaseMemory) == 0);
static_assert(kRefusalsOffset % alignof(RefusalMemory) == 0);
static_assert(kSlotsOffset % alignof(SlotMemory) == 0);
static_assert(sizeof(SlotMemory) % alignof(LoginMemory) == 0);

std::size_t logins_offset(std::size_t slots) {
  return kSlotsOffset + slots * sizeof(SlotMemory);
}

std::size_t board_size(std::size_t slots) {
  return logins_offset(slots) + sizeof(LoginMemory);
}

}  // namespace

base::Result<Board> Board::create(std::string_view pool, std::size_t slots) {
  if (slots > kMostSlots) {
    return base::fail(base::ErrorCode::kLimit,
                      fmt::format("a scoreboard has at most {} slots, not {}", kMostSlots, slots));
  }
  Board board;
  board.size_ = board_size(slots);
  QUARRY_TRY_ASSIGN(board.fd_, make_memory("scoreboard", board.size_));
  QUARRY_TRY(board.map_memory(board.fd_.get(), PROT_READ | PROT_WRITE));
  board.slot_count_ = slots;
  board.pool_.assign(pool);
  // The memory is zero, and so is an empty slot, so nothing needs to be initialized.
  board.write_header();
  for (auto& word : board.logins().salt) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) {
      return base::fail_errno("cannot get random bytes");
    }
    word.store(random, std::memory_order_relaxed);
  }
  return board;
}

base::Result<void> Board::map_memory(int fd, int protection) {
  void* mapped = ::mmap(nullptr, size_, protection, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return base::fail_errno("cannot map the scoreboard");
  base_ = static_cast<std::byte*>(mapped);
  return {};
}

void Board::write_header() {
  BoardHeader header{kMagic, kLayoutVersion, static_cast<std::uint32_t>(slot_count_),
                     static_cast<std::uint32_t>(sizeof(SlotMemory)), pool_};
  std::memcpy(base_, &header, sizeof header);
}

base::Result<Board> Board::map(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return base::fail_errno("cannot look at the scoreboard");
  if (status.st_size < static_cast<off_t>(kSlotsOffset)) {
    return base::fail(base::ErrorCode::kInvalid, "too small for a scoreboard");
  }
  Board board;
  board.size_ = static_cast<std::size_t>(status.st_size);
  QUARRY_TRY(board.map_memory(fd, PROT_READ | PROT_WRITE));
  BoardHeader header{};
  std::memcpy(&header, board.base_, sizeof header);
  if (header.magic != kMagic || header.version != kLayoutVersion) {
    return base::fail(base::ErrorCode::kInvalid, "no scoreboard of this version");
  }
  if (header.slot_size != sizeof(SlotMemory) || header.slot_count > kMostSlots ||
      board_size(header.slot_count) != board.size_) {
    return base::fail(base::ErrorCode::kInvalid, "the scoreboard's header does not fit its size");
  }
  board.slot_count_ = header.slot_count;
  board.pool_ = header.pool;
  return board;
}

BoardLayout Board::layout() const {
  return {kLayoutVersion, sizeof(SlotMemory), sizeof(PoolMemory), slot_count_};
}

base::Result<Board> Board::adopt(base::Fd fd, const BoardLayout& layout, std::string_view pool) {
  Board board;
  board.slot_count_ = static_cast<std::size_t>(layout.slots);
  if (layout.slots > kMostSlots || layout != board.layout()) {
    return base::fail(base::ErrorCode::kInvalid, "a scoreboard of another layout");
  }
  board.size_ = board_size(board.slot_count_);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return base::fail_errno("cannot look at the scoreboard");
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (status.st_size != static_cast<off_t>(board.size_) || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0) {
    return base::fail(base::ErrorCode::kInvalid, "the scoreboard's memory is not what it was");
  }
  QUARRY_TRY(board.map_memory(fd.get(), PROT_READ | PROT_WRITE));
  board.fd_ = std::move(fd);
  board.pool_.assign(pool);
  return board;
}

base::Result<Board> Board::read_only() const {
  Board board;
  board.size_ = size_;
  QUARRY_TRY(board.map_memory(fd_.get(), PROT_READ));
  board.slot_count_ = slot_count_;
  board.pool_ = pool_;
  board.last_ = last_;
  return board;
}

Board::Board(Board&& other) noexcept
    : fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      slot_count_(std::exchange(other.slot_count_, 0)),
      pool_(other.pool_),
      last_(other.last_) {}

Board& Board::operator=(Board&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  std::swap(slot_count_, other.slot_count_);
  std::swap(pool_, other.pool_);
  std::swap(last_, other.last_);
  return *this;
}

void Board::unmap() {
  if (base_ != nullptr) ::munmap(base_, size_);
  base_ = nullptr;
  slot_count_ = 0;
  fd_.reset();
}

SlotMemory* Board::memory(std::size_t index) const {
  return std::launder(
      reinterpret_cast<SlotMemory*>(base_ + kSlotsOffset + index * sizeof(SlotMemory)));
}

PoolMemory* Board::pool_memory() const {
  return std::launder(reinterpret_cast<PoolMemory*>(base_ + sizeof(BoardHeader)));
}

Leases Board::leases() const {
  if (base_ == nullptr) return Leases(nullptr);
  return Leases(std::launder(reinterpret_cast<LeaseMemory*>(base_ + kLeasesOffset)));
}

RefusalMemory* Board::refusal_memory() const {
  return std::launder(reinterpret_cast<RefusalMemory*>(base_ + kRefusalsOffset));
}

std::vector<Refusal> Board::refusals() const {
  std::vector<Refusal> found;
  for (const auto& each : refusal_memory()->ring) {
    const auto copy = copy_state(each);
    const bool is_one = !copy.is_torn && copy.state.at != 0 && copy.state.is_sound();
    if (is_one) found.push_back(copy.state);
  }
  std::ranges::sort(found, std::ranges::greater(), &Refusal::at);
  return found;
}

Board::Reading Board::read(std::size_t index) const {
  const auto copy = copy_state(memory(index)->state);
  if (!copy.state.is_sound()) return {SlotState{}, copy.is_torn, true};
  return {copy.state, copy.is_torn, false};
}

LoginMemory& Board::logins() const {
  return *std::launder(reinterpret_cast<LoginMemory*>(base_ + logins_offset(slot_count_)));
}

Board::PoolReading Board::read_pool() const {
  const auto copy = copy_state(*pool_memory());
  if (copy.is_torn || !copy.state.is_sound()) return {last_, copy.sequence, true};
  last_ = copy.state;
  return {copy.state, copy.sequence, false};
}

void Board::publish(const PoolState& state) {
  last_ = state;
  write_header();
  write_state(*pool_memory(), state);
}

void Board::retire(std::size_t index, const PoolState& state) {
  last_ = state;
  write_state_and(*pool_memory(), state, [&] { clear(index); });
}

Slot Board::slot(std::size_t index) {
  return Slot(memory(index), last_.generation, refusal_memory());
}

void Board::clear(std::size_t index) {
  write_state(memory(index)->state, SlotState{});
}

// --- SlotAllocator -------------------------------------------------------------------------------

std::optional<std::size_t> SlotAllocator::allocate() {
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const std::size_t index = (free_proc_ + i) % used_.size();
    if (used_[index]) continue;
    used_[index] = true;
    free_proc_ = (index + 1) % used_.size();
    return index;
  }
  return std::nullopt;
}

void SlotAllocator::free(std::size_t index) {
  used_[index] = false;
  free_proc_ = index;
}

std::size_t SlotAllocator::used_count() const {
  return static_cast<std::size_t>(std::count(used_.begin(), used_.end(), true));
}

}  // namespace quarry::scoreboard
