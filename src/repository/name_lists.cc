// Lists of artifact names: stored, unclustered and missing artifacts.
#include <limits>

#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

/// Returns the names in the first column of QUERY, except the names of waiting artifacts. The
/// second column is the rid.
template <typename State>
std::vector<HashName> names_from(Query query, State& state,
                                 std::size_t limit = std::numeric_limits<std::size_t>::max()) {
  std::vector<HashName> names;
  const auto& waiting = state.waiting_ones();
  while (names.size() < limit && query.step()) {
    if (!waiting.empty() && waiting.contains(query.integer(1))) continue;
    if (const auto name = HashName::parse(query.text(0))) names.push_back(*name);
  }
  return names;
}

}  // namespace

Result<void> NameLists::visit_names(const std::function<void(const HashName&)>& visit) {
  return guarded(state_->path, [&] {
    Query query = state_->database.query(
        "SELECT uuid, rid FROM blob WHERE size>=0 AND uuid NOT IN (SELECT uuid FROM shun)"
        " AND rid NOT IN (SELECT rid FROM private) ORDER BY rid");
    for (const HashName& name : names_from(std::move(query), *state_)) visit(name);
  });
}

// Each name is looked up by its row id in a separate subquery. With outdated statistics, SQLite
// might scan the whole table blob for a join, but not for a subquery. NULL results are left out.

std::vector<HashName> NameLists::private_names() {
  return names_from(
      state_->database.query("SELECT (SELECT uuid FROM blob WHERE rid=p.rid AND size>=0"
                             "  AND uuid NOT IN (SELECT uuid FROM shun)), rid FROM private AS p"),
      *state_);
}

std::vector<HashName> NameLists::clusters() {
  Query query = state_->database.query(
      "SELECT (SELECT uuid FROM blob WHERE rid=t.rid AND size>=0"
      "  AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=blob.uuid)"
      "  AND NOT EXISTS(SELECT 1 FROM private WHERE rid=blob.rid)"
      "  AND NOT EXISTS(SELECT 1 FROM unclustered WHERE rid=blob.rid)), rid"
      " FROM tagxref AS t INDEXED BY tagxref_i1 WHERE tagid=?1 AND tagtype>0",
      kTagCluster);
  return names_from(std::move(query), *state_);
}

std::vector<HashName> NameLists::unsent() {
  std::vector<HashName> names;
  Query query = state_->database.query(
      "SELECT (SELECT uuid FROM blob WHERE rid=u.rid AND size>=0"
      "  AND NOT EXISTS(SELECT 1 FROM private WHERE rid=blob.rid)"
      "  AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=blob.uuid))"
      " FROM unsent AS u ORDER BY rid");
  while (query.step()) {
    if (const auto name = HashName::parse(query.text(0))) names.push_back(*name);
  }
  return names;
}

const std::vector<HashName>& NameLists::unclustered() {
  if (state_->derivation.has_pending()) state_->derivation.run();
  if (!state_->unclustered) {
    state_->unclustered = names_from(
        state_->database.query("SELECT (SELECT uuid FROM blob WHERE rid=u.rid AND size>=0"
                               "  AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=blob.uuid)"
                               "  AND NOT EXISTS(SELECT 1 FROM private WHERE rid=blob.rid)), rid"
                               " FROM unclustered AS u"
                               " WHERE NOT EXISTS(SELECT 1 FROM phantom WHERE rid=u.rid)"),
        *state_);
  }
  return *state_->unclustered;
}

const std::vector<HashName>* NameLists::unclustered_within(std::size_t limit) {
  if (state_->derivation.has_pending()) state_->derivation.run();
  if (!state_->unclustered) {
    if (state_->database.has_row("SELECT 1 FROM unclustered LIMIT 1 OFFSET ?1", limit)) {
      return nullptr;
    }
  }
  return &unclustered();
}

std::vector<HashName> NameLists::phantoms(std::size_t limit, bool include_private) {
  if (state_->derivation.has_pending()) state_->derivation.run();
  Query query = state_->database.query(
      "SELECT (SELECT uuid FROM blob WHERE rid=p.rid"
      "  AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=blob.uuid)"
      "  AND (?1 OR NOT EXISTS(SELECT 1 FROM private WHERE rid=blob.rid))), rid FROM phantom AS p",
      include_private);
  return names_from(std::move(query), *state_, limit);
}

}  // namespace quarry::repository
