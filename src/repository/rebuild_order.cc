#include "rebuild_order.h"

#include <algorithm>

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

void sort_as_rebuilt(Database& database, std::vector<Rid>& rids) {
  std::sort(rids.begin(), rids.end(), [&](Rid a, Rid b) { return rebuilt_before(database, a, b); });
}

bool rebuilt_before(Database& database, Rid a, Rid b) {
  if (a == b) return false;
  const std::vector<Rid> to_a = path_from_root(database, a), to_b = path_from_root(database, b);
  const auto [in_a, in_b] = std::mismatch(to_a.begin(), to_a.end(), to_b.begin(), to_b.end());
  if (in_a == to_a.end() || in_b == to_b.end()) return to_a.size() < to_b.size();
  if (in_a == to_a.begin()) return *in_a < *in_b;
  std::vector<Rid> siblings;
  Query query =
      database.query("SELECT rid FROM delta INDEXED BY delta_i1 WHERE srcid=?1 ORDER BY rid");
  query.bind(1, *(in_a - 1));
  while (query.step()) siblings.push_back(query.integer(0));
  const std::vector<Rid> order = hash_order(siblings);
  return std::find(order.begin(), order.end(), *in_a) <
         std::find(order.begin(), order.end(), *in_b);
}

}  // namespace quarry::repository
