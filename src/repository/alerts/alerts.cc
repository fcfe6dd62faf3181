// Pending alerts and subscribers. The details of events are in alert_events.cc.
#include "quarry/repository/alerts.h"

#include <fmt/core.h>

#include <algorithm>

#include "lent_capabilities.h"
#include "post_links.h"
#include "quarry/base/hex.h"
#include "quarry/base/number.h"
#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

// Number of hash digits that are stored with a row id.
constexpr std::size_t kHashStart = 16;

bool has_column(Database& database, std::string_view table, std::string_view column) {
  return database.has_row("SELECT 1 FROM pragma_table_info(?1) WHERE name=?2 COLLATE nocase", table,
                          column);
}

/// Returns whether the tables have the columns of current fossil versions.
bool are_up_to_date(Database& database) {
  return has_column(database, "pending_alert", "sentMod") &&
         has_column(database, "subscriber", "lastContact");
}

/// An event that awaits a moderator is pending until the moderators are notified. It is pending
/// again after it has been approved.
constexpr std::string_view kPendingAtOnce =
    "SELECT eventid, (SELECT objid FROM event WHERE objid=substr(eventid,2)+0),"
    " (SELECT mtime FROM event WHERE objid=substr(eventid,2)+0),"
    " EXISTS(SELECT 1 FROM private WHERE rid=substr(eventid,2))"
    " FROM pending_alert WHERE sentSep IS FALSE AND NOT"
    " (sentMod IS TRUE AND EXISTS(SELECT 1 FROM private WHERE rid=substr(eventid,2)))"
    " ORDER BY 3, 1 LIMIT ?1";

/// Events that await a moderator are not in digests.
constexpr std::string_view kPendingDigest =
    "SELECT eventid, (SELECT objid FROM event WHERE objid=substr(eventid,2)+0),"
    " (SELECT mtime FROM event WHERE objid=substr(eventid,2)+0), 0"
    " FROM pending_alert WHERE sentDigest IS FALSE"
    " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=substr(eventid,2))"
    " ORDER BY 3, 1 LIMIT ?1";

void read_post(Database& database, PendingAlert& alert) {
  PostLinks links = links_of_post(database, alert.reference->rid);
  if (!links.is_there) return alert.reference.reset();
  alert.is_edit = links.earlier != 0;
  alert.is_answer = links.answered != 0;
  for (int depth = 0; depth < kMaxThread && links.answered != 0; ++depth) {
    Query query =
        database.query("SELECT coalesce(euser,user,'') FROM event WHERE objid=?1", links.answered);
    if (query.step()) alert.answered.emplace_back(query.text(0));
    links = links_of_post(database, links.answered);
  }
  std::ranges::sort(alert.answered);
  const auto repeated = std::ranges::unique(alert.answered);
  alert.answered.erase(repeated.begin(), repeated.end());
}

std::int64_t cutoff(Database& database) {
  return database.first_integer(
      "SELECT CAST(value AS INTEGER) FROM config WHERE name='email-renew-cutoff'");
}

}  // namespace

std::string AlertReference::text() const {
  return fmt::format("{}{}:{}{}", type, rid, hash, needs_moderator ? "!" : "");
}

std::optional<AlertReference> AlertReference::parse(std::string_view text) {
  AlertReference reference;
  if (text.empty()) return std::nullopt;
  reference.type = text.front();
  text.remove_prefix(1);
  reference.rid = base::take_number<Rid>(text).value_or(0);
  if (reference.rid <= 0 || !text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  reference.needs_moderator = text.ends_with('!');
  if (reference.needs_moderator) text.remove_suffix(1);
  if (text.empty() || !base::is_hex(text)) return std::nullopt;
  reference.hash = text;
  return reference;
}

Result<bool> Alerts::are_set_up() {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    return state.database.has_table("subscriber") && state.database.has_table("pending_alert");
  });
}

Result<void> Alerts::upgrade_tables() {
  return guarded(repository_.internals(), [&](Database& database) {
    if (!has_column(database, "pending_alert", "sentMod")) {
      database.execute("ALTER TABLE pending_alert ADD COLUMN sentMod BOOLEAN DEFAULT false");
    }
    if (!has_column(database, "subscriber", "lastContact")) {
      database.execute(
          "ALTER TABLE subscriber ADD COLUMN lastContact INT;"
          "UPDATE subscriber SET lastContact=mtime/86400");
    }
  });
}

Result<bool> Alerts::has_pending(AlertTiming timing) {
  return guarded(repository_.internals(), [&](Database& database) {
    if (!are_up_to_date(database)) return database.has_row("SELECT 1 FROM pending_alert");
    if (timing == AlertTiming::kDigest) {
      return database.has_row(
          "SELECT 1 FROM pending_alert WHERE sentDigest IS FALSE"
          " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=substr(eventid,2)) LIMIT 1");
    }
    return database.has_row(
        "SELECT 1 FROM pending_alert WHERE sentSep IS FALSE AND NOT (sentMod IS TRUE"
        " AND EXISTS(SELECT 1 FROM private WHERE rid=substr(eventid,2))) LIMIT 1");
  });
}

Result<std::vector<PendingAlert>> Alerts::pending(AlertTiming timing, std::size_t limit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    if (state.derivation.has_pending()) state.derivation.run();
    std::vector<PendingAlert> alerts;
    {
      Query query = state.database.query(
          timing == AlertTiming::kDigest ? kPendingDigest : kPendingAtOnce, limit);
      while (query.step()) {
        PendingAlert& alert = alerts.emplace_back();
        alert.id = query.text(0);
        const Rid rid = query.integer(1);
        const std::string hash = state.names.hash_of(rid).substr(0, kHashStart);
        if (alert.id.empty() || hash.empty()) continue;
        alert.reference = AlertReference{.type = alert.id.front(),
                                         .rid = rid,
                                         .hash = hash,
                                         .needs_moderator = query.integer(3) != 0};
      }
    }
    if (timing == AlertTiming::kDigest) return alerts;
    const bool has_posts = state.database.has_table("forumpost");
    for (PendingAlert& alert : alerts) {
      if (!alert.reference || alert.reference->type != 'f') continue;
      if (has_posts) {
        read_post(state.database, alert);
      } else {
        alert.reference.reset();
      }
    }
    return alerts;
  });
}

Result<std::size_t> Alerts::count_subscribers(AlertTiming timing) {
  return guarded(repository_.internals(), [&](Database& database) {
    return static_cast<std::size_t>(
        database.first_integer("SELECT count(*) FROM subscriber WHERE sverified AND NOT sdonotcall"
                               " AND (CASE WHEN ?1 THEN sdigest IS TRUE ELSE sdigest IS FALSE END)",
                               timing == AlertTiming::kDigest));
  });
}

Result<void> Alerts::visit_subscribers(
    AlertTiming timing, const std::function<Result<void>(const Subscriber&)>& visit) {
  return guarded(repository_.internals(), [&](Database& database) -> Result<void> {
    const LentCapabilities lent = lent_capabilities(database);
    // As in fossil, a subscriber without a last contact does not expire.
    Query query = database.query(
        "SELECT hex(subscriberCode), semail, ssub, suname, user.cap"
        " FROM subscriber LEFT JOIN user INDEXED BY sqlite_autoindex_user_1 ON login=suname"
        " WHERE sverified AND NOT sdonotcall"
        " AND (CASE WHEN ?1 THEN sdigest IS TRUE ELSE sdigest IS FALSE END)"
        " AND coalesce(subscriber.lastContact, subscriber.mtime)>=?2"
        " ORDER BY subscriberId",
        timing == AlertTiming::kDigest, cutoff(database));
    while (query.step()) {
      QUARRY_TRY(visit({.code = std::string(query.text(0)),
                        .address = std::string(query.text(1)),
                        .letters = std::string(query.text(2)),
                        .user = std::string(query.text(3)),
                        .capabilities = all_capabilities(query.text(4), lent)}));
    }
    return {};
  });
}

Result<void> Alerts::visit_expiring(std::int64_t after, std::int64_t until,
                                    const std::function<Result<void>(const Subscriber&)>& visit) {
  return guarded(repository_.internals(), [&](Database& database) -> Result<void> {
    Query query = database.query(
        "SELECT hex(subscriberCode), semail, ssub, suname FROM subscriber"
        " WHERE lastContact<=?2 AND lastContact>?1 AND NOT sdonotcall AND length(sdigest)>0"
        " ORDER BY subscriberId",
        after, until);
    while (query.step()) {
      QUARRY_TRY(visit({.code = std::string(query.text(0)),
                        .address = std::string(query.text(1)),
                        .letters = std::string(query.text(2)),
                        .user = std::string(query.text(3))}));
    }
    return {};
  });
}

Result<std::vector<AlertMarks>> Alerts::marks(std::size_t limit, std::string_view after) {
  return guarded(repository_.internals(), [&](Database& database) {
    std::vector<AlertMarks> all;
    const bool knows_moderators = has_column(database, "pending_alert", "sentMod");
    Query query = database.query(
        knows_moderators ? "SELECT eventid, sentSep IS TRUE, sentDigest IS TRUE, sentMod IS TRUE"
                           " FROM pending_alert WHERE eventid>?1 ORDER BY eventid LIMIT ?2"
                         : "SELECT eventid, sentSep IS TRUE, sentDigest IS TRUE, 0"
                           " FROM pending_alert WHERE eventid>?1 ORDER BY eventid LIMIT ?2",
        after, limit);
    while (query.step()) {
      all.push_back({std::string(query.text(0)), query.integer(1) != 0, query.integer(2) != 0,
                     query.integer(3) != 0});
    }
    return all;
  });
}

Result<void> Alerts::mark_sent(AlertTiming timing, const std::vector<PendingAlert>& alerts) {
  return guarded(repository_.internals(), [&](Database& database) {
    for (const PendingAlert& alert : alerts) {
      const bool was_for_moderators = alert.reference && alert.reference->needs_moderator;
      database.execute(timing == AlertTiming::kDigest
                           ? "UPDATE pending_alert SET sentDigest=true WHERE eventid=?1"
                       : was_for_moderators
                           ? "UPDATE pending_alert SET sentMod=true WHERE eventid=?1"
                           : "UPDATE pending_alert SET sentSep=true WHERE eventid=?1",
                       alert.id);
      database.execute("DELETE FROM pending_alert WHERE eventid=?1 AND sentDigest AND sentSep",
                       alert.id);
    }
  });
}

}  // namespace quarry::repository
