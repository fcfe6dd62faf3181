#include "rebuild_order.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace quarry::repository {
namespace {

class HashTable {
 public:
  void insert(Rid rid) {
    if (used_ + 1 >= slots_.size() / 2) grow();
    place(slots_, rid);
    ++used_;
  }
  std::vector<Rid> in_order() const {
    std::vector<Rid> rids;
    for (const Rid rid : slots_) {
      if (rid != 0) rids.push_back(rid);
    }
    return rids;
  }

 private:
  static void place(std::vector<Rid>& slots, Rid rid) {
    std::size_t at = static_cast<std::size_t>(rid) * 101 % slots.size();
    while (slots[at] != 0) at = (at + 1) % slots.size();
    slots[at] = rid;
  }
  void grow() {
    std::vector<Rid> larger(slots_.size() * 2 + 20);
    for (const Rid rid : slots_) {
      if (rid != 0) place(larger, rid);
    }
    slots_ = std::move(larger);
  }

  std::vector<Rid> slots_;
  std::size_t used_ = 0;
};

std::vector<Rid> path_from_root(Database& database, Rid rid) {
  std::vector<Rid> path{rid};
  Query query = database.query("SELECT srcid FROM delta WHERE rid=?1");
  while (query.bind(1, path.back()).step()) {
    path.push_back(query.integer(0));
    query.rewind();
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

std::vector<Rid> hash_order(const std::vector<Rid>& rids) {
  HashTable table;
  for (const Rid rid : rids) table.insert(rid);
  return table.in_order();
}

void RebuildOrder::sort(std::vector<Rid>& rids) {
  std::sort(rids.begin(), rids.end(), [&](Rid a, Rid b) { return before(a, b); });
}

RebuildOrder::Path RebuildOrder::path(Rid rid) {
  Path path{.is_put_off = false, .rids = path_from_root(database_, rid)};
  path.is_put_off = is_put_off(path.rids.front());
  // Then whatever has the smallest number comes first, and what it is made from later.
  if (path.is_put_off) path.rids.erase(path.rids.begin(), std::ranges::min_element(path.rids));
  return path;
}

bool RebuildOrder::before(Rid a, Rid b) {
  if (a == b) return false;
  if (is_held_) return place(a) < place(b);
  const Path to_a = path(a), to_b = path(b);
  if (to_a.is_put_off != to_b.is_put_off) return to_b.is_put_off;
  const auto [in_a, in_b] = std::ranges::mismatch(to_a.rids, to_b.rids);
  if (in_a == to_a.rids.end() || in_b == to_b.rids.end())
    return to_a.rids.size() < to_b.rids.size();
  if (in_a == to_a.rids.begin()) return *in_a < *in_b;
  std::vector<Rid> siblings = deltas_on(*(in_a - 1));
  if (to_a.is_put_off) {
    // The smaller ones have been looked at by their own numbers.
    std::erase_if(siblings, [&](Rid rid) { return rid < to_a.rids.front(); });
  }
  const std::vector<Rid> order = hash_order(siblings);
  return std::ranges::find(order, *in_a) < std::ranges::find(order, *in_b);
}

std::vector<Rid> RebuildOrder::deltas_on(Rid rid) {
  std::vector<Rid> found;
  Query query =
      database_.query("SELECT rid FROM delta INDEXED BY delta_i1 WHERE srcid=?1 ORDER BY rid");
  query.bind(1, rid);
  while (query.step()) found.push_back(query.integer(0));
  return found;
}

bool RebuildOrder::is_put_off(Rid stored) {
  // Whether a child is put off itself decides whether it comes early enough for its parent.
  std::vector<Rid> todo{stored};
  while (!todo.empty()) {
    const Rid rid = todo.back();
    bool decided = put_off_.contains(rid), late = false;
    if (!decided) {
      decided = true;
      for (const Rid child : rebuild_deltas_.tried_for(rid)) {
        const Rid root = whole(child);
        if (root >= rid) continue;
        const auto known = put_off_.find(root);
        if (known == put_off_.end()) {
          todo.push_back(root);
          decided = false;
        } else if (!known->second && rebuild_deltas_.is_worth_it(rid, child)) {
          late = decided = true;
          break;
        }
      }
      if (decided) put_off_[rid] = late;
    }
    if (decided) std::erase(todo, rid);
  }
  return put_off_.at(stored);
}

void RebuildOrder::read_deltas() {
  deltas_.emplace();
  auto& [based_on, in_turn, late] = *deltas_;
  std::unordered_set<Rid> are_deltas;
  Query query = database_.query("SELECT rid, srcid FROM delta ORDER BY rid");
  while (query.step()) {
    based_on[query.integer(1)].push_back(query.integer(0));
    are_deltas.insert(query.integer(0));
  }
  for (const auto& [stored, first] : based_on) {
    if (are_deltas.contains(stored)) continue;
    std::size_t count = 0;
    std::vector<Rid> todo{stored};
    while (!todo.empty()) {
      const Rid rid = todo.back();
      todo.pop_back();
      if (rid != stored) in_turn[rid] = {stored, ++count};
      const auto next = based_on.find(rid);
      if (next == based_on.end()) continue;
      const std::vector<Rid> order = hash_order(next->second);
      todo.insert(todo.end(), order.rbegin(), order.rend());
    }
  }
}

/// The places of STORED, which is put off, and of all that is made from it.
void RebuildOrder::read_late(Rid stored) {
  auto& [based_on, in_turn, late] = *deltas_;
  std::vector<Rid> members{stored};
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto next = based_on.find(members[i]);
    if (next != based_on.end()) std::ranges::copy(next->second, std::back_inserter(members));
  }
  std::ranges::sort(members);
  for (const Rid first : members) {
    if (late.contains(first)) continue;
    std::size_t count = 0;
    std::vector<Rid> todo{first};
    while (!todo.empty()) {
      const Rid rid = todo.back();
      todo.pop_back();
      late[rid] = {first, count++};
      std::vector<Rid> next = based_on.contains(rid) ? based_on.at(rid) : std::vector<Rid>();
      std::erase_if(next, [&](Rid other) { return late.contains(other); });
      const std::vector<Rid> order = hash_order(next);
      todo.insert(todo.end(), order.rbegin(), order.rend());
    }
  }
}

RebuildOrder::Place RebuildOrder::place(Rid rid) {
  if (!deltas_) read_deltas();
  const auto found = deltas_->in_turn.find(rid);
  const Delta delta = found == deltas_->in_turn.end() ? Delta{rid, 0} : found->second;
  if (!is_put_off(delta.first)) return {false, delta.first, delta.after};
  if (!deltas_->late.contains(rid)) read_late(delta.first);
  const Delta late = deltas_->late.at(rid);
  return {true, late.first, late.after};
}

Rid RebuildOrder::whole(Rid rid) {
  if (is_held_) {
    const auto found = deltas_->in_turn.find(rid);
    return found == deltas_->in_turn.end() ? rid : found->second.first;
  }
  return path_from_root(database_, rid).front();
}

bool RebuildOrder::is_delta(Rid rid) {
  return database_.query("SELECT 1 FROM delta WHERE rid=?1").bind(1, rid).step();
}

std::vector<Rid> RebuildOrder::made_from(Rid rid) {
  std::vector<Rid> found{rid};
  for (std::size_t at = 0; at < found.size(); ++at) {
    std::ranges::copy(deltas_on(found[at]), std::back_inserter(found));
  }
  return found;
}

void RebuildOrder::forget() {
  put_off_.clear();
  if (deltas_) deltas_->late.clear();
  if (!is_held_) deltas_.reset();
}

void RebuildOrder::hold() {
  forget();
  read_deltas();
  is_held_ = true;
}

void RebuildOrder::let_go() {
  is_held_ = false;
  forget();
}

}  // namespace quarry::repository
