#include "succession.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"
#include "quarry/base/spawn.h"

namespace quarry::master {
namespace {

// A board has twice pm.max_children slots, plus these spare slots. In small pools, a reload can
// then raise pm.max_children, and can begin before the previous reload is complete.
constexpr std::size_t kSpareSlots = 32;

std::size_t slots_for(const Service& service) {
  if (service.is_program()) return 0;
  const std::size_t max_children = service.processes.max_children;
  const std::size_t limit = std::max(max_children, scoreboard::kMaxSlots);
  return std::min(std::min(max_children, limit / 2) * 2 + kSpareSlots, limit);
}

/// The counters of the previous master and, if it is reusable, its board.
struct TakenOver {
  std::optional<scoreboard::Board> board;  // nullopt: not reusable
  scoreboard::SlotAllocator slots{0};
  std::optional<scoreboard::PoolState> state;
};

TakenOver take_over(const Service& service, std::vector<InheritedBoard>& inherited,
                    PreviousGeneration& previous) {
  const auto left = std::ranges::find(inherited, service.name, &InheritedBoard::service);
  if (left == inherited.end()) return {};
  auto board = scoreboard::Board::adopt(std::move(left->fd), left->layout, service.name);
  if (!board || !left->state.is_sound()) {
    base::log(base::LogLevel::kDebug, "[{}] counters start at zero: {}", service.name,
              board ? "the figures from the previous generation are not plausible"
                    : board.error().message);
    return {};
  }
  TakenOver taken;
  taken.state = left->state;
  taken.slots = scoreboard::SlotAllocator(board->slot_count());
  scoreboard::Counters of_previous;
  previous.for_each_on_board(service.name, [&](PreviousChild& child) {
    if (!taken.slots.is_free(*child.slot)) return child.slot.reset();
    taken.slots.take(*child.slot);
    of_previous.add(board->read(*child.slot).state.counters);
  });
  if (left->writer != writer_for(service.run_as) ||
      (!service.is_program() && taken.slots.free_count() < service.processes.max_children)) {
    taken.state->past.add(of_previous);
    return taken;
  }
  // Clear the free slots, because children might have left arbitrary data in them.
  for (std::size_t i = 0; i < board->slot_count(); ++i) {
    if (taken.slots.is_free(i)) board->clear(i);
  }
  taken.board = std::move(*board);
  return taken;
}

}  // namespace

void hand_over(const Listener& listener, Handover& handover) {
  if (listener.fd() < 0) return;
  handover.sockets.push_back({listener.asked_for(), std::make_shared<base::Fd>(listener.fd()),
                              listener.is_ours(), listener.file()});
}

void hand_over(const Children& service, std::uint64_t generation, Handover& handover) {
  handover.boards.push_back({.service = service.service().name,
                             .fd = base::Fd(service.board().fd()),
                             .layout = service.board().layout(),
                             .writer = writer_for(service.service().run_as),
                             .state = service.watch().state()});
  for (const KeptMemory& memory : service.service().kept_memories) {
    handover.memories.push_back({.name = memory.name,
                                 .fd = base::Fd(memory.fd),
                                 .layout = memory.layout,
                                 .writer = writer_for(service.service().run_as)});
  }
  for (const auto& child : service.living()) {
    handover.previous_children.push_back({.pid = child->pid,
                                          .service = service.service().name,
                                          .generation = generation,
                                          .asked_at = 0,
                                          .quit_signal = service.service().quit_signal(),
                                          .ends_last = service.service().ends_last,
                                          .ends_by_itself = service.service().ends_by_itself,
                                          .control = base::Fd(child->control.fd()),
                                          .slot = child->slot,
                                          .output = {},
                                          .slow_request = child->slow_request});
    if (child->output) handover.previous_children.back().output = child->output->hand_over();
  }
}

Error execute_again(const std::filesystem::path& program, std::vector<std::string> arguments,
                    const Handover& handover) {
  const auto written = write_handover(handover);
  if (!written) return written.error();
  base::log(base::LogLevel::kNotice, "reloading: generation {} becomes {}", handover.generation - 1,
            handover.generation);
  base::notify_service_manager(fmt::format("RELOADING=1\nSTATUS=reloading\nMONOTONIC_USEC={}",
                                           scoreboard::monotonic_micros()));
  ::setenv(kHandoverVariable, std::to_string(written->get()).c_str(), 1);
  ::execv(program.c_str(), base::pointers_to(arguments).data());
  auto failed = fail_errno("cannot execute {}", program.string()).error();
  ::unsetenv(kHandoverVariable);
  return failed;
}

Result<void> set_up_board(Children& service, std::vector<InheritedBoard>& inherited,
                          PreviousGeneration& previous) {
  const Service& config = service.service();
  TakenOver taken = take_over(config, inherited, previous);
  if (!taken.board) {
    previous.leave_board(config.name);
    const std::size_t slots = slots_for(config);
    QUARRY_TRY_ASSIGN(taken.board, scoreboard::Board::create(config.name, slots));
    taken.slots = scoreboard::SlotAllocator(slots);
  }
  service.stand_on(std::move(*taken.board), std::move(taken.slots),
                   taken.state ? &*taken.state : nullptr, previous.count_of(config.name));
  return {};
}

}  // namespace quarry::master
