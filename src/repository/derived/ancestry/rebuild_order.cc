#include "rebuild_order.h"

#include <algorithm>

#include "quarry/artifact/delta.h"

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

bool RebuildOrder::before(Rid a, Rid b) {
  if (a == b) return false;
  if (is_held_) return place(a) < place(b);
  const std::vector<Rid> to_a = path_from_root(database_, a), to_b = path_from_root(database_, b);
  const bool a_is_late = is_put_off(to_a.front()), b_is_late = is_put_off(to_b.front());
  if (a_is_late || b_is_late) return a_is_late == b_is_late ? a < b : b_is_late;
  const auto [in_a, in_b] = std::mismatch(to_a.begin(), to_a.end(), to_b.begin(), to_b.end());
  if (in_a == to_a.end() || in_b == to_b.end()) return to_a.size() < to_b.size();
  if (in_a == to_a.begin()) return *in_a < *in_b;
  std::vector<Rid> siblings;
  Query query =
      database_.query("SELECT rid FROM delta INDEXED BY delta_i1 WHERE srcid=?1 ORDER BY rid");
  query.bind(1, *(in_a - 1));
  while (query.step()) siblings.push_back(query.integer(0));
  const std::vector<Rid> order = hash_order(siblings);
  return std::find(order.begin(), order.end(), *in_a) <
         std::find(order.begin(), order.end(), *in_b);
}

/// The check-ins that have RID for a parent, and the wiki pages and technotes that have it for the
/// version before.
std::vector<Rid> RebuildOrder::children(Rid rid) {
  std::vector<Rid> found;
  for (const Lineage::Child child : lineage_.children(rid)) {
    if (lineage_.is_check_in(child.rid) || (child.is_primary && tags_.is_document(child.rid))) {
      found.push_back(child.rid);
    }
  }
  return found;
}

/// Whether fossil finds the delta worth it.
bool RebuildOrder::becomes_delta(Rid rid, Rid source) {
  Query hidden =
      database_.query("SELECT 1 FROM private WHERE rid=?1 AND ?2 NOT IN (SELECT rid FROM private)");
  if (hidden.bind(1, source).bind(2, rid).step()) return false;
  const auto content = contents_.get(rid), from = contents_.get(source);
  if (!content || !from) return false;
  return artifact::delta_create(**from, **content).size() <= (*content)->size() / 4 * 3;
}

bool RebuildOrder::is_put_off(Rid stored) {
  // Whether a child is put off itself decides whether it comes early enough for its parent.
  std::vector<Rid> todo{stored};
  while (!todo.empty()) {
    const Rid rid = todo.back();
    bool decided = put_off_.contains(rid), late = false;
    if (!decided) {
      decided = true;
      for (const Rid child : children(rid)) {
        const Rid root = whole(child);
        if (root >= rid) continue;
        const auto known = put_off_.find(root);
        if (known == put_off_.end()) {
          todo.push_back(root);
          decided = false;
        } else if (!known->second && becomes_delta(rid, child)) {
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
  std::unordered_map<Rid, std::vector<Rid>> based_on;
  std::unordered_map<Rid, Rid> sources;
  Query query = database_.query("SELECT rid, srcid FROM delta ORDER BY rid");
  while (query.step()) {
    based_on[query.integer(1)].push_back(query.integer(0));
    sources[query.integer(0)] = query.integer(1);
  }
  for (const auto& [stored, first] : based_on) {
    if (sources.contains(stored)) continue;
    std::size_t count = 0;
    std::vector<Rid> todo{stored};
    while (!todo.empty()) {
      const Rid rid = todo.back();
      todo.pop_back();
      if (rid != stored) (*deltas_)[rid] = {stored, ++count};
      const auto next = based_on.find(rid);
      if (next == based_on.end()) continue;
      const std::vector<Rid> order = hash_order(next->second);
      todo.insert(todo.end(), order.rbegin(), order.rend());
    }
  }
}

RebuildOrder::Place RebuildOrder::place(Rid rid) {
  if (!deltas_) read_deltas();
  const auto found = deltas_->find(rid);
  const Delta delta = found == deltas_->end() ? Delta{rid, 0} : found->second;
  if (is_put_off(delta.whole)) return {true, rid, 0};
  return {false, delta.whole, delta.after};
}

Rid RebuildOrder::whole(Rid rid) {
  if (is_held_) {
    const auto found = deltas_->find(rid);
    return found == deltas_->end() ? rid : found->second.whole;
  }
  return path_from_root(database_, rid).front();
}

bool RebuildOrder::is_delta(Rid rid) {
  return database_.query("SELECT 1 FROM delta WHERE rid=?1").bind(1, rid).step();
}

std::vector<Rid> RebuildOrder::made_from(Rid rid) {
  std::vector<Rid> found{rid};
  for (std::size_t at = 0; at < found.size(); ++at) {
    Query query = database_.query("SELECT rid FROM delta INDEXED BY delta_i1 WHERE srcid=?1");
    query.bind(1, found[at]);
    while (query.step()) found.push_back(query.integer(0));
  }
  return found;
}

void RebuildOrder::forget() {
  put_off_.clear();
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
