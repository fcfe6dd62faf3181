// Receives artifacts in a write transaction.

#include <fmt/core.h>

#include "history/timeline_rows.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/structural.h"
#include "quarry/base/log.h"
#include "receipt_state.h"
#include "store/hash_policy.h"

namespace quarry::repository {

using artifact::HashName;

Receipt::Receipt(std::unique_ptr<State> state) : state_(std::move(state)) {}
Receipt::Receipt(Receipt&&) noexcept = default;
Receipt::~Receipt() = default;

Result<Receipt> Repository::receive(std::optional<std::chrono::milliseconds> wait) {
  state_->wait_for_checkpoint();
  return guarded(state_->path, [&] {
    if (wait) state_->database.set_busy_timeout(*wait);
    struct Restore {
      State& state;
      ~Restore() { state.database.set_busy_timeout(state.options.busy_timeout); }
    } restore{*state_};
    return Receipt(std::make_unique<Receipt::State>(*state_));
  });
}

Result<Receipt> Repository::receive_unsynced() {
  state_->wait_for_checkpoint();
  return guarded(state_->path, [&] {
    return Receipt(
        std::make_unique<Receipt::State>(*state_, std::make_unique<UnsyncedCommits>(*state_)));
  });
}

void Receipt::set_sender(Sender sender) {
  state_->sender = std::move(sender);
  state_->receipt = 0;
}

std::int64_t Receipt::id() const {
  return state_->receipt;
}

/// Returns the row of `rcvfrom` for this request. Creates it at the first call.
Rid Receipt::State::receipt_id() {
  if (receipt != 0) return receipt;
  // Leave out the nonce of a repeated request: the first request has stored the same nonce, and the
  // column must be unique.
  if (sender.login_nonce &&
      r.database.has_row("SELECT 1 FROM rcvfrom WHERE nonce=?1", *sender.login_nonce)) {
    sender.login_nonce.reset();
  }
  r.database.execute("INSERT INTO rcvfrom(uid,mtime,nonce,ipaddr) VALUES(?1,?2,?3,?4)", sender.uid,
                     base::julian_day(sender.received.value_or(r.options.clock->now())),
                     sender.login_nonce, sender.address);
  return receipt = r.database.last_insert_rowid();
}

Result<void> Receipt::State::admit(const HashName& name) {
  QUARRY_TRY_ASSIGN(const bool has_changed,
                    admit_hash(r.database, name, r.options.clock->now().value / 1000));
  if (has_changed) r.settings.clear();
  return {};
}

/// Writes the row of an artifact that is new (RID is 0) or was a phantom.
Rid Receipt::State::write_row(Rid rid, const HashName& name, std::int64_t size,
                              std::string_view stored_bytes, Rid source, bool is_private) {
  const Rid receipt_row = receipt_id();
  if (rid == 0) {
    r.database.execute("INSERT INTO blob(rcvid,size,uuid,content) VALUES(?1,?2,?3,?4)", receipt_row,
                       size, name.str(), Blob{stored_bytes});
    rid = r.database.last_insert_rowid();
    if (!is_private) {
      r.database.execute("INSERT OR IGNORE INTO unclustered(rid) VALUES(?1)", rid);
    }
  } else {
    r.database.execute("UPDATE blob SET rcvid=?1, size=?2, content=?3 WHERE rid=?4", receipt_row,
                       size, Blob{stored_bytes}, rid);
    r.database.execute("DELETE FROM phantom WHERE rid=?1", rid);
    if (!is_private) publish(rid);
  }
  if (is_private) r.privacy.hide(rid);
  if (source != 0) {
    r.database.execute("INSERT OR REPLACE INTO delta(rid,srcid) VALUES(?1,?2)", rid, source);
  } else {
    r.database.execute("DELETE FROM delta WHERE rid=?1", rid);
  }
  return rid;
}

void Receipt::State::back_to_phantom(Rid rid) {
  if (r.waiting) r.waiting->erase(rid);
  r.database.execute("UPDATE blob SET size=-1, content=NULL, rcvid=0 WHERE rid=?1", rid);
  r.database.execute("DELETE FROM delta WHERE rid=?1", rid);
  r.database.execute("INSERT OR IGNORE INTO phantom(rid) VALUES(?1)", rid);
  r.contents.forget(rid);
}

/// Returns whether TAG moves a ticket change to another ticket. If the name of TAG begins with
/// "tkt-" and the target is missing, TAG might move a change, so the function also returns true.
bool Receipt::State::is_change_of_other(const artifact::TagCard& tag) {
  constexpr std::string_view kTicket = "tkt-";
  if (!tag.name.starts_with(kTicket) || tag.target.empty()) return false;
  const Rid target = r.names.find(tag.target);
  if (target == 0 || !r.contents.get(target)) return true;
  const Manifest change = r.manifests.get(target);
  return change && change->type == artifact::StructuralType::kTicketChange &&
         change->ticket != tag.name.substr(kTicket.size());
}

bool Receipt::State::may_do_harm(std::string_view content) {
  constexpr std::string_view kCard = "\nT ";
  for (std::size_t at = content.find(kCard); at != std::string_view::npos;
       at = content.find(kCard, at + 1)) {
    std::string_view name = content.substr(at + kCard.size());
    name = name.substr(0, name.find_first_of(" \n"));
    // Also return true for a name with a backslash, because it might be `parent` or `tkt-…` with an
    // escaped letter.
    if (name.ends_with("parent") || name.find("tkt-") != std::string_view::npos ||
        name.find('\\') != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::optional<std::string_view> Receipt::State::harm_of(std::string_view content) {
  if (!may_do_harm(content)) return std::nullopt;
  const auto parsed = artifact::parse_structural(content);
  if (!parsed) return std::nullopt;
  for (const artifact::TagCard& tag : parsed->tags) {
    if (tag.kind != '-' && tag.name == "parent" && tag.value.empty()) {
      return "its tag `parent` does not have a value, which makes fossil crash";
    }
    if (is_change_of_other(tag)) {
      return "its tag moves a change to another ticket, which makes every `fossil clone` fail";
    }
  }
  return std::nullopt;
}

bool Receipt::State::is_shunned(std::string_view name) {
  return r.database.has_row("SELECT 1 FROM shun WHERE uuid=?1", name);
}

void Receipt::State::became_available(Rid rid, const Content& content) {
  if (r.waiting) r.waiting->erase(rid);
  r.contents.remember(rid, content);
  r.derivation.arrived(rid, r.manifests.add(rid, *content));
}

/// Resolves the deltas that waited for RID, which was a phantom and has arrived. Then recursively
/// resolves the deltas that waited for the resolved artifacts.
void Receipt::State::resolve_waiting(Rid rid) {
  std::vector<Rid> todo{rid};
  while (!todo.empty()) {
    const Rid source = todo.back();
    todo.pop_back();
    std::vector<std::pair<Rid, std::string>> waiting;
    {
      Query query = r.database.query(
          "SELECT rid, (SELECT uuid FROM blob WHERE rid=delta.rid) FROM delta INDEXED BY delta_i1"
          " WHERE srcid=?1 AND EXISTS(SELECT 1 FROM blob WHERE rid=delta.rid AND size>=0)",
          source);
      while (query.step()) waiting.emplace_back(query.integer(0), query.text(1));
    }
    for (const auto& [delta_rid, text] : waiting) {
      const auto name = HashName::parse(text);
      const auto content = r.contents.get(delta_rid);
      if (!name || !content || !name->names(**content) || harm_of(**content)) {
        base::log(base::LogLevel::kWarning,
                  "{}: discarded artifact {}, which was received as a delta: its content is wrong "
                  "or harmful",
                  r.path.string(), text);
        back_to_phantom(delta_rid);
        continue;
      }
      became_available(delta_rid, *content);
      if (!r.privacy.is_private(delta_rid)) {
        r.privacy.store_whole_if_source_is_private(delta_rid);
      }
      todo.push_back(delta_rid);
    }
  }
}

/// Writes an artifact whose content has been verified.
Rid Receipt::State::store_content(Rid rid, const Arrival& arrival, Content content,
                                  std::string_view stored_bytes, Rid source) {
  const bool was_known = rid != 0;
  rid = write_row(rid, arrival.name, static_cast<std::int64_t>(content->size()), stored_bytes,
                  source, arrival.is_private);
  became_available(rid, content);
  if (was_known) resolve_waiting(rid);
  return rid;
}

Result<void> Receipt::add_phantom(const HashName& name, bool is_private) {
  return guarded(state_->r, [&](RepositoryState& r) {
    if (r.names.find(name.str()) == 0) r.names.make_phantom(name.str(), is_private);
  });
}

Result<void> Receipt::set_config(std::string_view name, std::optional<std::string_view> value) {
  return guarded(state_->r, [&](RepositoryState& r) {
    if (value) {
      r.database.execute("INSERT OR REPLACE INTO config(name,value,mtime) VALUES(?1,?2,?3)", name,
                         *value, r.options.clock->now().value / 1000);
    } else {
      r.database.execute("DELETE FROM config WHERE name=?1", name);
    }
    r.settings.erase(std::string(name));
    r.derivation.setting_changed(name);
  });
}

Result<std::size_t> Receipt::require_tip(std::string_view branch, const HashName& tip) {
  return guarded(state_->r, [&](auto& r) -> Result<std::size_t> {
    if (r.derivation.has_pending()) r.derivation.run();
    QUARRY_TRY_ASSIGN(const BranchTip found, tip_of(r, branch));
    if (found.name == tip) return found.open_leaves;
    return fail(ErrorCode::kConflict, "the tip of the branch {} is {}, not {}", branch,
                found.name.str(), tip.str());
  });
}

Result<void> Receipt::forget_unsent(const std::vector<HashName>& names) {
  return guarded(state_->r, [&](RepositoryState& r) {
    for (const HashName& name : names) {
      r.database.execute("DELETE FROM unsent WHERE rid=(SELECT rid FROM blob WHERE uuid=?1)",
                         name.str());
    }
  });
}

Result<void> Receipt::set_password(std::string_view login, std::string_view password) {
  return guarded(state_->r, [&](auto& r) -> Result<void> {
    const std::string code =
        r.database.first_text("SELECT value FROM config WHERE name='project-code'");
    r.database.execute("UPDATE user SET pw=?2, mtime=?3, cookie=NULL WHERE login=?1", login,
                       artifact::sha1_hex(fmt::format("{}/{}/{}", code, login, password)),
                       r.options.clock->now().value / 1000);
    r.users.clear();
    if (r.database.changes() == 0) {
      return fail(ErrorCode::kNotFound, "user {} does not exist", login);
    }
    return {};
  });
}

Result<void> Receipt::commit() {
  return guarded(state_->r, [&](RepositoryState& r) {
    if (r.derivation.has_pending()) r.derivation.run();
    for (const Rid hidden : r.derivation.take_hidden()) r.privacy.store_dependents_whole(hidden);
    state_->transaction.commit();
    state_->committed = true;
    ++r.epoch;
    r.unclustered.reset();
    r.wants_checkpoint = true;
  });
}

}  // namespace quarry::repository
