// What goes from one master to the next, beside the listening sockets: the boards with what was
// counted, and the children with what they print.
//
// The new master goes on with a pool's board, so that children of both generations stand on it and
// no figure goes backwards. Which slots the elders have it is told by the one before it, and so are
// the pool's figures: nothing of them is read from the board. It is not gone on with
//
//   where its layout is another    the program is a newer one: the pool counts anew
//   where its slots do not suffice pm.max_children was raised: what was counted is kept
//   where the pool's user changed  the elders' one must not write where the new one does: the same
//
// and the elders are then counted, but not seen.
//
// Descriptors are lent to the handover: take_back().
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "loop.h"
#include "quarry/base/log.h"

namespace quarry::master {
namespace {

// Beyond twice pm.max_children, so that small pools can be raised, and reloaded amid a reload.
constexpr std::size_t kSpareSlots = 32;

std::size_t slots_for(std::size_t max_children) {
  const std::size_t most = std::max(max_children, scoreboard::kMostSlots);
  return std::min(std::min(max_children, most / 2) * 2 + kSpareSlots, most);
}

BoardWriter writer_of(const Service& service) {
  if (service.run_as) return {service.run_as->uid, service.run_as->gid};
  return {::geteuid(), ::getegid()};
}

}  // namespace

void Master::Loop::hand_over_boards(Handover& handover) const {
  for (const auto& group : groups_) {
    handover.boards.push_back({.service = group->service.name,
                               .fd = base::Fd(group->board.fd()),
                               .layout = group->board.layout(),
                               .writer = writer_of(group->service),
                               .state = group->watch.state()});
  }
}

void Master::Loop::hand_over_children(Handover& handover) const {
  for (const auto& group : groups_) {
    for (const auto& child : group->children) {
      handover.elders.push_back({.pid = child->pid,
                                 .service = group->service.name,
                                 .generation = reload_.generation,
                                 .asked_at = 0,
                                 .control = base::Fd(child->control.fd()),
                                 .slot = child->slot,
                                 .output = {},
                                 .slow_request = child->slow_request});
      if (child->output) handover.elders.back().output = child->output->hand_over();
    }
  }
  for (const Elder& elder : reload_.elders) {
    handover.elders.push_back({.pid = elder.pid,
                               .service = elder.service,
                               .generation = elder.generation,
                               .asked_at = elder.asked_at,
                               .control = base::Fd(elder.control.get()),
                               .slot = elder.slot,
                               .output = {},
                               .slow_request = elder.slow_request});
    const auto output = elder_outputs_.find(elder.pid);
    if (output != elder_outputs_.end()) {
      handover.elders.back().output = output->second->hand_over();
    }
  }
}

base::Result<void> Master::Loop::set_up_board(Group& group) {
  const auto former = take_over_board(group);
  if (group.board.slot_count() == 0) {
    for (Elder& elder : reload_.elders) {
      if (elder.service == group.service.name) elder.slot.reset();
    }
    const std::size_t slots = slots_for(group.service.processes.max_children);
    QUARRY_TRY_ASSIGN(group.board, scoreboard::Board::create(group.service.name, slots));
    group.slots = scoreboard::SlotAllocator(slots);
  }
  group.watch.begin(group.board, group.service, reload_.generation, former ? &*former : nullptr);
  group.watch.elders(elders_of(group));
  return {};
}

/// What the pool has counted so far, where there was one, and its board, where that can be used.
std::optional<scoreboard::PoolState> Master::Loop::take_over_board(Group& group) {
  const auto left = std::ranges::find(reload_.boards, group.service.name, &InheritedBoard::service);
  if (left == reload_.boards.end()) return std::nullopt;
  auto board = scoreboard::Board::adopt(std::move(left->fd), left->layout, group.service.name);
  if (!board || !left->state.is_sound()) {
    base::log(base::LogLevel::kDebug, "[{}] begins to count anew: {}", group.service.name,
              board ? "its figures cannot be" : board.error().message);
    return std::nullopt;
  }
  scoreboard::PoolState former = left->state;
  scoreboard::SlotAllocator slots(board->slot_count());
  scoreboard::Counters of_elders;
  for (Elder& elder : reload_.elders) {
    if (elder.service != group.service.name || !elder.slot) continue;
    if (!slots.is_free(*elder.slot)) {
      elder.slot.reset();
      continue;
    }
    slots.take(*elder.slot);
    of_elders.add(board->read(*elder.slot).state.counters);
  }
  if (left->writer != writer_of(group.service) ||
      slots.free_count() < group.service.processes.max_children) {
    former.past.add(of_elders);
    return former;
  }
  // A child may have left there what it liked.
  for (std::size_t i = 0; i < board->slot_count(); ++i) {
    if (slots.is_free(i)) board->clear(i);
  }
  group.board = std::move(*board);
  group.slots = std::move(slots);
  return former;
}

void Master::Loop::go_on_catching() {
  for (Elder& elder : reload_.elders) {
    if (!elder.output) continue;
    elder_outputs_[elder.pid] = std::make_unique<ChildOutput>(
        base_.get(), fmt::format("[{}] child {}", elder.service, elder.pid),
        std::move(*elder.output));
    elder.output.reset();
  }
}

std::size_t Master::Loop::elders_of(const Group& group) const {
  return static_cast<std::size_t>(
      std::ranges::count(reload_.elders, group.service.name, &Elder::service));
}

/// Of an elder that has ended, and is not in the list any more.
void Master::Loop::take_leave(Group& group, std::optional<std::size_t> slot) {
  if (!slot) return group.watch.elders(elders_of(group));
  group.watch.elder_ended(*slot, elders_of(group));
  group.slots.free(*slot);
}

}  // namespace quarry::master
