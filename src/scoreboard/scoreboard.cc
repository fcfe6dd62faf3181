#include "quarry/scoreboard/scoreboard.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <new>
#include <utility>

#include "quarry/scoreboard/login_limiter.h"
#include "shared_state.h"

namespace quarry::scoreboard {
namespace {

constexpr std::uint64_t kLayoutVersion = 12;

constexpr std::size_t kLeasesOffset = sizeof(PoolMemory);
constexpr std::size_t kRefusalsOffset = kLeasesOffset + sizeof(LeaseMemory);
constexpr std::size_t kBusiestOffset = kRefusalsOffset + sizeof(RefusalMemory);
constexpr std::size_t kSlotsOffset = kBusiestOffset + sizeof(BusiestMemory);
static_assert(kLeasesOffset % alignof(LeaseMemory) == 0);
static_assert(kRefusalsOffset % alignof(RefusalMemory) == 0);
static_assert(kBusiestOffset % alignof(BusiestMemory) == 0);
static_assert(kSlotsOffset % alignof(SlotMemory) == 0);
static_assert(sizeof(SlotMemory) % alignof(LoginMemory) == 0);

std::size_t logins_offset(std::size_t slots) {
  return kSlotsOffset + slots * sizeof(SlotMemory);
}

std::size_t board_size(std::size_t slots) {
  return logins_offset(slots) + sizeof(LoginMemory);
}

}  // namespace

Result<Board> Board::create(std::string_view pool, std::size_t slots) {
  if (slots > kMaxSlots) {
    return fail(ErrorCode::kLimit, "a scoreboard has at most {} slots, not {}", kMaxSlots, slots);
  }
  QUARRY_TRY_ASSIGN(base::Fd fd, make_memory("scoreboard", board_size(slots)));
  QUARRY_TRY_ASSIGN(Mapping memory, map_for_writing(fd.get(), board_size(slots)));
  Board board(std::move(fd), std::move(memory), slots, pool);
  // Initialize only the salt. All other memory is already zero, which is the content of an empty
  // slot.
  for (auto& word : board.logins().salt) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) {
      return fail_errno("cannot get random bytes");
    }
    word.store(random, std::memory_order_relaxed);
  }
  return board;
}

BoardLayout Board::layout() const {
  return {kLayoutVersion, sizeof(SlotMemory), sizeof(PoolMemory), slot_count_};
}

Result<Board> Board::adopt(base::Fd fd, const BoardLayout& layout, std::string_view pool) {
  const auto slots = static_cast<std::size_t>(layout.slots);
  Board board({}, {}, slots, pool);
  if (layout.slots > kMaxSlots || layout != board.layout()) {
    return fail(ErrorCode::kInvalid, "its layout has an unsupported version");
  }
  QUARRY_TRY(check_memory(fd.get(), board_size(slots)));
  QUARRY_TRY_ASSIGN(board.memory_, map_for_writing(fd.get(), board_size(slots)));
  board.fd_ = std::move(fd);
  return board;
}

Result<Board> Board::read_only() const {
  QUARRY_TRY_ASSIGN(Mapping memory, map_for_reading(fd_.get(), board_size(slot_count_)));
  Board board({}, std::move(memory), slot_count_, pool_);
  board.last_ = last_;
  return board;
}

void Board::unmap() {
  memory_.reset();
  slot_count_ = 0;
  fd_.reset();
}

template <typename T>
T& Board::at(std::size_t offset) const {
  return *std::launder(reinterpret_cast<T*>(static_cast<std::byte*>(memory_.get()) + offset));
}

SlotMemory& Board::slot_memory(std::size_t index) const {
  return at<SlotMemory>(kSlotsOffset + index * sizeof(SlotMemory));
}

Leases Board::leases() const {
  return Leases(memory_ ? &at<LeaseMemory>(kLeasesOffset) : nullptr);
}

LoginMemory& Board::logins() const {
  return at<LoginMemory>(logins_offset(slot_count_));
}

std::vector<Refusal> Board::refusals() const {
  std::vector<Refusal> found;
  for (const auto& each : at<RefusalMemory>(kRefusalsOffset).ring) {
    const auto copy = copy_state(each);
    const bool is_one = !copy.is_torn && copy.state.at != 0 && copy.state.is_sound();
    if (is_one) found.push_back(copy.state);
  }
  std::ranges::sort(found, std::ranges::greater(), &Refusal::at);
  return found;
}

std::vector<RepositoryCount> Board::busiest() const {
  return busiest_in(at<BusiestMemory>(kBusiestOffset));
}

Board::Reading Board::read(std::size_t index) const {
  const auto copy = copy_state(slot_memory(index));
  if (!copy.state.is_sound()) return {SlotState{}, copy.is_torn, true};
  return {copy.state, copy.is_torn, false};
}

Board::PoolReading Board::read_pool() const {
  const auto copy = copy_state(at<PoolMemory>(0));
  if (copy.is_torn || !copy.state.is_sound()) return {last_, copy.sequence, true};
  last_ = copy.state;
  return {copy.state, copy.sequence, false};
}

void Board::publish(const PoolState& state) {
  last_ = state;
  write_state(at<PoolMemory>(0), state);
}

void Board::retire(std::size_t index, const PoolState& state) {
  last_ = state;
  write_state_and(at<PoolMemory>(0), state, [&] { clear(index); });
}

Slot Board::slot(std::size_t index) {
  return Slot(&slot_memory(index), last_.generation, &at<RefusalMemory>(kRefusalsOffset),
              &at<BusiestMemory>(kBusiestOffset));
}

void Board::clear(std::size_t index) {
  write_state(slot_memory(index), SlotState{});
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

std::size_t SlotAllocator::free_count() const {
  return static_cast<std::size_t>(std::ranges::count(used_, false));
}

}  // namespace quarry::scoreboard
