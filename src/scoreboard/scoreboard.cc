#include "quarry/scoreboard/scoreboard.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

namespace quarry::scoreboard {
namespace {

constexpr std::uint32_t kMagic = 0x51425264;  // "QBRd"
constexpr std::uint32_t kLayoutVersion = 2;
constexpr std::size_t kMaxSlots = 65536;
// An update takes well under a microsecond; who is still odd after so many looks is dead or
// stopped.
constexpr int kMaxReadTries = 1000;

struct alignas(64) BoardHeader {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t slot_count;
  std::uint32_t slot_size;
  FixedText<64> pool;
};

constexpr std::size_t kSlotsOffset = sizeof(BoardHeader);
static_assert(kSlotsOffset % alignof(SlotMemory) == 0);

using Words = std::array<std::uint64_t, kSlotWords>;

std::size_t board_size(std::size_t slots) {
  return kSlotsOffset + slots * sizeof(SlotMemory);
}

std::int64_t micros(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

// Hans Boehm, "Can seqlocks get along with programming language memory models?" (2012): the data
// words are relaxed atomics, ordered against the sequence number by the two fences.
void write_words(SlotMemory& memory, const Words& words) {
  // A predecessor that died inside an update left an odd number.
  const std::uint64_t odd = memory.sequence.load(std::memory_order_relaxed) | 1U;
  memory.sequence.store(odd, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < kSlotWords; ++i) {
    memory.words[i].store(words[i], std::memory_order_relaxed);
  }
  memory.sequence.store(odd + 1, std::memory_order_release);
}

}  // namespace

std::int64_t monotonic_micros() {
  return micros(CLOCK_MONOTONIC);
}

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::kNone:
      return "none";
    case Stage::kAccepting:
      return "accepting";
    case Stage::kAccepted:
      return "accepted";
    case Stage::kReadingHeaders:
      return "reading headers";
    case Stage::kInfo:
      return "info";
    case Stage::kExecuting:
      return "executing";
    case Stage::kEnd:
      return "end";
    case Stage::kFinished:
      return "finished";
  }
  return "unknown";
}

// --- Slot ----------------------------------------------------------------------------------------

void Slot::publish() {
  write_words(*memory_, std::bit_cast<Words>(state_));
}

void Slot::enter(Stage stage) {
  state_.stage = stage;
  state_.stage_since = monotonic_micros();
}

void Slot::child_started() {
  state_ = SlotState{};
  state_.pid = static_cast<std::uint32_t>(::getpid());
  state_.child_started = micros(CLOCK_REALTIME);
  publish();
}

void Slot::accepting() {
  enter(Stage::kAccepting);
  publish();
}

void Slot::accepted() {
  enter(Stage::kAccepted);
  state_.request_started = state_.stage_since;
  state_.content_length = 0;
  state_.method.assign("");
  state_.uri.assign("");
  state_.user.assign("");
  state_.operation.assign("");
  state_.repository.assign("");
  state_.doing.assign("");
  state_.sql.assign("");
  state_.sql_seen = 0;
  publish();
}

void Slot::reading_headers() {
  enter(Stage::kReadingHeaders);
  publish();
}

void Slot::info(const RequestInfo& request) {
  enter(Stage::kInfo);
  state_.method.assign(request.method);
  state_.uri.assign(request.uri);
  state_.content_length = request.content_length;
  publish();
}

void Slot::executing(std::string_view repository) {
  enter(Stage::kExecuting);
  state_.repository.assign(repository);
  publish();
}

void Slot::doing(std::string_view user, std::string_view operation, std::string_view what) {
  state_.user.assign(user);
  state_.operation.assign(operation);
  state_.doing.assign(what);
  publish();
}

void Slot::running_sql(std::string_view sql) {
  state_.sql.assign(sql);
  state_.sql_seen = monotonic_micros();
  publish();
}

void Slot::end(std::string_view user, std::string_view operation) {
  enter(Stage::kEnd);
  state_.user.assign(user);
  state_.operation.assign(operation);
  publish();
}

void Slot::finished() {
  enter(Stage::kFinished);
  state_.request_duration = state_.stage_since - state_.request_started;
  state_.accumulated +=
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, state_.request_duration));
  ++state_.requests;
  publish();
}

// --- Board ---------------------------------------------------------------------------------------

base::Result<Board> Board::create(std::string_view pool, std::size_t slots) {
  if (slots == 0 || slots > kMaxSlots) {
    return base::fail(base::ErrorCode::kLimit,
                      fmt::format("a scoreboard has 1 to {} slots, not {}", kMaxSlots, slots));
  }
  Board board;
  board.fd_.reset(::memfd_create("quarry-scoreboard", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!board.fd_) return base::fail_errno("cannot make the scoreboard's memory");
  board.size_ = board_size(slots);
  if (::ftruncate(board.fd_.get(), static_cast<off_t>(board.size_)) != 0 ||
      ::fcntl(board.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return base::fail_errno("cannot size the scoreboard's memory");
  }
  void* mapped =
      ::mmap(nullptr, board.size_, PROT_READ | PROT_WRITE, MAP_SHARED, board.fd_.get(), 0);
  if (mapped == MAP_FAILED) return base::fail_errno("cannot map the scoreboard");
  board.base_ = static_cast<std::byte*>(mapped);
  board.slot_count_ = slots;

  BoardHeader header{kMagic,
                     kLayoutVersion,
                     static_cast<std::uint32_t>(slots),
                     static_cast<std::uint32_t>(sizeof(SlotMemory)),
                     {}};
  header.pool.assign(pool);
  std::memcpy(board.base_, &header, sizeof header);
  // The memory is zero, which is what an empty slot is made of: nothing more to construct.
  return board;
}

base::Result<Board> Board::map(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return base::fail_errno("cannot look at the scoreboard");
  if (status.st_size < static_cast<off_t>(kSlotsOffset)) {
    return base::fail(base::ErrorCode::kInvalid, "too small for a scoreboard");
  }
  Board board;
  board.size_ = static_cast<std::size_t>(status.st_size);
  void* mapped = ::mmap(nullptr, board.size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return base::fail_errno("cannot map the scoreboard");
  board.base_ = static_cast<std::byte*>(mapped);

  BoardHeader header{};
  std::memcpy(&header, board.base_, sizeof header);
  if (header.magic != kMagic || header.version != kLayoutVersion) {
    return base::fail(base::ErrorCode::kInvalid, "no scoreboard of this version");
  }
  if (header.slot_size != sizeof(SlotMemory) || header.slot_count == 0 ||
      header.slot_count > kMaxSlots || board_size(header.slot_count) != board.size_) {
    return base::fail(base::ErrorCode::kInvalid, "the scoreboard's header does not fit its size");
  }
  board.slot_count_ = header.slot_count;
  return board;
}

Board::Board(Board&& other) noexcept
    : fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      slot_count_(std::exchange(other.slot_count_, 0)) {}

Board& Board::operator=(Board&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  std::swap(slot_count_, other.slot_count_);
  return *this;
}

void Board::unmap() {
  if (base_ != nullptr) ::munmap(base_, size_);
  base_ = nullptr;
  slot_count_ = 0;
  fd_.reset();
}

std::string Board::pool() const {
  if (base_ == nullptr) return {};
  BoardHeader header{};
  std::memcpy(&header, base_, sizeof header);
  return std::string(header.pool.view());
}

SlotMemory* Board::memory(std::size_t index) const {
  return std::launder(
      reinterpret_cast<SlotMemory*>(base_ + kSlotsOffset + index * sizeof(SlotMemory)));
}

Board::Reading Board::read(std::size_t index) const {
  const SlotMemory& slot = *memory(index);
  Words words{};
  for (int i = 0; i < kMaxReadTries; ++i) {
    const std::uint64_t before = slot.sequence.load(std::memory_order_acquire);
    for (std::size_t w = 0; w < kSlotWords; ++w) {
      words[w] = slot.words[w].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint64_t after = slot.sequence.load(std::memory_order_relaxed);
    if (before == after && before % 2 == 0) return {std::bit_cast<SlotState>(words), false};
  }
  return {std::bit_cast<SlotState>(words), true};
}

Slot Board::slot(std::size_t index) {
  return Slot(memory(index));
}

void Board::clear(std::size_t index) {
  write_words(*memory(index), Words{});
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
