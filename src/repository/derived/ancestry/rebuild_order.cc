#include "rebuild_order.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace quarry::repository {
namespace {

// What hangs on more than this is taken to be where its row number is.
constexpr int kDeepest = 100;

bool is_one_of(Rid rid, const std::vector<Rid>& rids) {
  return std::ranges::find(rids, rid) != rids.end();
}

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

RebuildOrder::Path RebuildOrder::path_in_turn(Rid rid, Rid turn) {
  Path path{.is_put_off = false, .is_again = false, .rids = path_from_root(database_, rid)};
  path.is_again = turn != path.rids.front();
  if (path.is_again) path.rids.insert(path.rids.begin(), turn);
  return path;
}

RebuildOrder::Path RebuildOrder::path(Rid rid) {
  const Rid stored = whole(rid);
  const Rid source = made_delta_on(stored);
  if (source == 0) return path_in_turn(rid, stored);
  if (is_looked_at_again(source)) return path_in_turn(rid, source);
  Path path{.is_put_off = true, .is_again = false, .rids = path_from_root(database_, rid)};
  // Then whatever has the smallest number comes first, and what it is made from later.
  path.rids.erase(path.rids.begin(), std::ranges::min_element(path.rids));
  return path;
}

bool RebuildOrder::before(Rid a, Rid b) {
  if (a == b) return false;
  if (is_held_) return place(a) < place(b);
  return is_before(path(a), path(b));
}

bool RebuildOrder::before_again(Rid a, Rid rid) {
  if (!is_looked_at_again(rid)) return false;
  if (is_held_) return place(a) < Place{false, rid, 0};
  return is_before(path(a), Path{.is_put_off = false, .is_again = true, .rids = {rid}});
}

bool RebuildOrder::is_before(const Path& a, const Path& b) {
  if (a.is_put_off != b.is_put_off) return b.is_put_off;
  const auto [in_a, in_b] = std::ranges::mismatch(a.rids, b.rids);
  if (in_a == a.rids.end() || in_b == b.rids.end()) return a.rids.size() < b.rids.size();
  if (in_a == a.rids.begin()) return *in_a < *in_b;
  const bool hang_on_again = in_a == a.rids.begin() + 1 && a.is_again;
  std::vector<Rid> siblings =
      hang_on_again ? made_deltas_on(a.rids.front()) : deltas_on(*(in_a - 1));
  if (a.is_put_off) {
    // The smaller ones have been looked at by their own numbers.
    std::erase_if(siblings, [&](Rid rid) { return rid < a.rids.front(); });
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

bool RebuildOrder::may_come_early(Rid whole, Rid until) {
  return std::ranges::any_of(rebuild_deltas_.tried_for(whole),
                             [&](Rid source) { return source < until && is_delta(source); });
}

/// The row at which a rebuild stands when it looks at RID, if that is before UNTIL; 0.
Rid RebuildOrder::turn(Rid rid, Rid until) {
  const Rid stored = whole(rid);
  if (stored < until) {
    const Rid source = made_delta_on(stored);
    if (source == 0) return stored;
    return source < until && is_looked_at_again(source) ? source : 0;
  }
  for (const Rid source : rebuild_deltas_.tried_for(stored)) {
    if (source < until && is_delta(source) && made_delta_on(stored, source) == source &&
        is_looked_at_again(source)) {
      return source;
    }
  }
  return 0;
}

/// Whether a rebuild looks at RID when it comes to its row number, though it has done so before.
bool RebuildOrder::is_looked_at_again(Rid rid) {
  if (!is_delta(rid)) return false;
  const Rid at = turn(rid, rid);
  if (at == 0 || !is_made_whole(rid, top_of(rid, at), at)) return false;
  return !becomes_delta(rid, {.is_put_off = false, .is_again = true, .rids = {rid}}, rid);
}

/// What RID is made from in the end when a rebuild looks at it for the first time, standing at row
/// TURN. Something on the way may have been made whole by then.
Rid RebuildOrder::top_of(Rid rid, Rid turn) {
  if (const auto known = tops_.find(rid); known != tops_.end()) return known->second;
  std::vector<Rid> chain = path_from_root(database_, rid);
  chain.pop_back();
  Rid top = turn;
  for (const Rid made : chain) {
    if (made != top && is_made_whole(made, top, turn)) top = made;
  }
  return tops_[rid] = top;
}

/// Whether RID is stored whole when it is looked at, since its TOP would be made a delta on it.
bool RebuildOrder::is_made_whole(Rid rid, Rid top, Rid turn) {
  return is_one_of(top, rebuild_deltas_.tried_with(rid)) &&
         is_one_of(rid, rebuild_deltas_.tried_for(top)) && rebuild_deltas_.is_tried(top, rid) &&
         !becomes_delta(top, path_in_turn(rid, turn), turn + 1);
}

/// Whether RID, which is whole or is made so when it is looked at, is made a delta before UNTIL, and
/// so before row ROW.
bool RebuildOrder::becomes_delta(Rid rid, const Path& until, Rid row) {
  if (depth_ >= kDeepest) return false;
  ++depth_;
  const auto is_there = [&](Rid source) {
    const Rid at = source == until.rids.back() ? 0 : turn(source, row);
    return at != 0 && is_before(path_in_turn(source, at), until);
  };
  const auto is_made_delta_on = [&](Rid source) {
    return top_of(source, turn(source, row)) != rid && rebuild_deltas_.is_worth_it(rid, source);
  };
  bool becomes = std::ranges::any_of(rebuild_deltas_.tried_for(rid), [&](Rid source) {
    return is_there(source) && is_made_delta_on(source);
  });
  if (!becomes) {
    const Rid at = turn(rid, row);
    for (const Rid source : rebuild_deltas_.not_older(rid)) {
      if (at == 0 || !is_there(source)) continue;
      if (!is_before(path_in_turn(source, turn(source, row)), path_in_turn(rid, at))) continue;
      becomes = is_made_delta_on(source);
      break;
    }
  }
  --depth_;
  return becomes;
}

/// What a rebuild, before it comes to RID's row, makes deltas on RID.
std::vector<Rid> RebuildOrder::made_deltas_on(Rid rid) {
  std::vector<Rid> found = rebuild_deltas_.tried_with(rid);
  std::erase_if(found,
                [&](Rid other) { return is_delta(other) || made_delta_on(other, rid) != rid; });
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

/// The artifact on which a rebuild makes STORED, which is whole, a delta before it comes to row
/// UNTIL; 0 if it does not.
Rid RebuildOrder::made_delta_on(Rid stored, Rid until) {
  const auto known = made_delta_on_.find({stored, until});
  if (known != made_delta_on_.end()) return known->second;
  if (depth_ >= kDeepest) return 0;
  ++depth_;
  std::optional<Path> first;
  for (const Rid source : rebuild_deltas_.tried_for(stored)) {
    const Rid at = turn(source, until);
    if (at == 0) continue;
    Path path = path_in_turn(source, at);
    if (first && !is_before(path, *first)) continue;
    if (rebuild_deltas_.is_worth_it(stored, source)) first = std::move(path);
  }
  --depth_;
  return made_delta_on_[{stored, until}] = first ? first->rids.back() : 0;
}

/// The same, before it comes to STORED itself.
Rid RebuildOrder::made_delta_on(Rid stored) {
  // That hangs on what is looked at earlier, and that on still earlier ones.
  std::vector<Rid> todo{stored};
  while (!todo.empty()) {
    const Rid rid = todo.back();
    const std::size_t before = todo.size();
    if (!made_delta_on_.contains({rid, rid})) {
      for (const Rid source : rebuild_deltas_.tried_for(rid)) {
        const Rid root = whole(source);
        if (root < rid && !made_delta_on_.contains({root, root})) todo.push_back(root);
      }
      if (todo.size() == before) made_delta_on(rid, rid);
    }
    if (todo.size() == before) todo.pop_back();
  }
  return made_delta_on_.at({stored, stored});
}

void RebuildOrder::read_deltas() {
  deltas_.emplace();
  auto& [based_on, in_turn, again, late] = *deltas_;
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

/// The places of what is looked at with RID, when that is looked at again.
void RebuildOrder::read_again(Rid rid) {
  std::size_t count = 0;
  std::vector<Rid> todo = hash_order(made_deltas_on(rid));
  std::ranges::reverse(todo);
  while (!todo.empty()) {
    const Rid next = todo.back();
    todo.pop_back();
    deltas_->again[next] = {rid, ++count};
    const auto found = deltas_->based_on.find(next);
    if (found == deltas_->based_on.end()) continue;
    const std::vector<Rid> order = hash_order(found->second);
    todo.insert(todo.end(), order.rbegin(), order.rend());
  }
}

/// The places of STORED, which is put off, and of all that is made from it.
void RebuildOrder::read_late(Rid stored) {
  auto& [based_on, in_turn, again, late] = *deltas_;
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
  const Rid source = made_delta_on(delta.first);
  if (source == 0) return {false, delta.first, delta.after};
  if (is_looked_at_again(source)) {
    if (!deltas_->again.contains(rid)) read_again(source);
    const Delta again = deltas_->again.at(rid);
    return {false, again.first, again.after};
  }
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
  if (is_held_) return deltas_->in_turn.contains(rid);
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
  made_delta_on_.clear();
  tops_.clear();
  if (deltas_) {
    deltas_->again.clear();
    deltas_->late.clear();
  }
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
