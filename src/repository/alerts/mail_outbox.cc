#include "quarry/repository/mail_outbox.h"

#include <array>
#include <string_view>

#include "lent_capabilities.h"
#include "quarry/base/hex.h"
#include "quarry/base/split.h"
#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

// Maximum time for which an email is deferred. If the due time of an email is further in the
// future, the clock must have been set back, so the email counts as due.
constexpr MailTime kLongestDelay{24 * 3600};

constexpr std::array<std::string_view, 4> kKinds{"alert", "post", "digest", "renewal"};

bool has_outbox(Database& database) {
  return database.has_table("fx_quarry_mail");
}

void make_outbox(Database& database) {
  if (has_outbox(database)) return;
  database.execute(
      "CREATE TABLE fx_quarry_mail("
      "id INTEGER PRIMARY KEY,"
      "kind TEXT NOT NULL,"     // alert, post, digest, renewal
      "code BLOB NOT NULL,"     // subscriber.subscriberCode
      "about TEXT NOT NULL,"    // references to events, separated by spaces
      "token TEXT NOT NULL,"    // for the Message-Id of the email
      "made INTEGER NOT NULL,"  // seconds since 1970
      "due INTEGER NOT NULL,"   // the email is not sent before this time
      "attempts INTEGER NOT NULL DEFAULT 0);"
      "CREATE INDEX fx_quarry_mail_due ON fx_quarry_mail(due)");
}

std::vector<AlertReference> read_references(std::string_view text) {
  std::vector<AlertReference> references;
  while (!text.empty()) {
    if (auto reference = AlertReference::parse(base::take_until(text, ' '))) {
      references.push_back(std::move(*reference));
    }
  }
  return references;
}

MailKind kind_of(std::string_view name) {
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (kKinds[kind] == name) return static_cast<MailKind>(kind);
  }
  return MailKind::kAlert;
}

/// Returns the id of the first due email, or 0 if there is none.
std::int64_t first_due(Database& database, MailTime now) {
  return database.first_integer(
      "SELECT coalesce((SELECT id FROM fx_quarry_mail INDEXED BY fx_quarry_mail_due WHERE due<=?1"
      "  ORDER BY due, id LIMIT 1),"
      " (SELECT id FROM fx_quarry_mail INDEXED BY fx_quarry_mail_due WHERE due>?2 LIMIT 1), 0)",
      now.count(), (now + kLongestDelay).count());
}

/// Reads the email whose id is ID. Returns nullopt if the subscriber has opted out.
std::optional<OutgoingMail> read_mail(Database& database, std::int64_t id) {
  Query row = database.query(
      "SELECT kind, code, about, token, made, attempts FROM fx_quarry_mail WHERE id=?1", id);
  if (!row.step()) return std::nullopt;
  const std::string code(row.blob(1));
  Query subscriber = database.query(
      "SELECT hex(subscriberCode), semail, ssub, user.cap"
      " FROM subscriber LEFT JOIN user INDEXED BY sqlite_autoindex_user_1 ON login=suname"
      " WHERE subscriberCode=?1 AND NOT coalesce(sdonotcall,0)",
      Blob{code});
  if (!subscriber.step()) return std::nullopt;
  const LentCapabilities lent = lent_capabilities(database);
  return OutgoingMail{.id = id,
                      .kind = kind_of(row.text(0)),
                      .code = std::string(subscriber.text(0)),
                      .address = std::string(subscriber.text(1)),
                      .letters = std::string(subscriber.text(2)),
                      .capabilities = all_capabilities(subscriber.text(3), lent),
                      .about = read_references(row.text(2)),
                      .token = std::string(row.text(3)),
                      .made = MailTime(row.integer(4)),
                      .attempts = row.integer(5)};
}

}  // namespace

Result<bool> MailOutbox::has_due(MailTime now) {
  return guarded(repository_.internals(), [&](Database& database) {
    if (!has_outbox(database)) return false;
    return first_due(database, now) != 0;
  });
}

Result<std::size_t> MailOutbox::size() {
  return guarded(repository_.internals(), [&](Database& database) -> Result<std::size_t> {
    if (!has_outbox(database)) return std::size_t{0};
    return static_cast<std::size_t>(database.first_integer("SELECT count(*) FROM fx_quarry_mail"));
  });
}

Result<std::optional<MailTime>> MailOutbox::next_due() {
  return guarded(
      repository_.internals(), [&](Database& database) -> Result<std::optional<MailTime>> {
        if (!has_outbox(database)) return std::nullopt;
        Query row =
            database.query("SELECT min(due) FROM fx_quarry_mail INDEXED BY fx_quarry_mail_due");
        if (!row.step() || row.is_null(0)) return std::nullopt;
        return MailTime(row.integer(0));
      });
}

Result<void> MailOutbox::add(MailKind kind, const std::string& code,
                             const std::vector<AlertReference>& about, MailTime now) {
  return guarded(repository_.internals(), [&](Database& database) -> Result<void> {
    const auto bytes = base::from_hex(code);
    if (!bytes) return fail(ErrorCode::kInvalid, "a subscriber code is not a hexadecimal number");
    make_outbox(database);
    std::string text;
    for (const AlertReference& reference : about) {
      if (!text.empty()) text += ' ';
      text += reference.text();
    }
    database.execute(
        "INSERT INTO fx_quarry_mail(kind,code,about,token,made,due)"
        " VALUES(?1,?2,?3,printf('%x',?4)||'q'||lower(hex(randomblob(8))),?4,?4)",
        kKinds[static_cast<std::size_t>(kind)], Blob{*bytes}, text, now.count());
    return {};
  });
}

Result<std::optional<OutgoingMail>> MailOutbox::claim(MailTime now, MailTime until) {
  return guarded(
      repository_.internals(), [&](Database& database) -> Result<std::optional<OutgoingMail>> {
        while (has_outbox(database)) {
          const std::int64_t id = first_due(database, now);
          if (id == 0) break;
          auto mail = read_mail(database, id);
          if (!mail) {
            database.execute("DELETE FROM fx_quarry_mail WHERE id=?1", id);
            continue;
          }
          database.execute("UPDATE fx_quarry_mail SET due=?2 WHERE id=?1", id, until.count());
          return mail;
        }
        return std::nullopt;
      });
}

Result<void> MailOutbox::remove(const OutgoingMail& mail) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("DELETE FROM fx_quarry_mail WHERE id=?1 AND token=?2", mail.id, mail.token);
  });
}

Result<void> MailOutbox::defer(const OutgoingMail& mail, MailTime due) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute(
        "UPDATE fx_quarry_mail SET due=?3, attempts=attempts+1 WHERE id=?1 AND token=?2", mail.id,
        mail.token, due.count());
  });
}

}  // namespace quarry::repository
