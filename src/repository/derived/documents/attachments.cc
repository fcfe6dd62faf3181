// Attachments to wiki pages, tickets and technotes, and their removals.
//
// What an attachment hangs on shows only in the tags that the page, ticket or technote has. So what
// its row of `event` says depends on which of the two rebuild sees first: one that it sees before
// anything of its target is taken for a wiki page's, until a ticket change or a technote with that
// id comes, which words it anew.

#include "attachments.h"

#include <fmt/core.h>

#include "derived/common/printed_day.h"
#include "quarry/base/escape.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

/// The artifacts that carry TAG themselves and that rebuild sees before UNTIL (0: all), the first
/// and the last of them as it sees them.
Attachments::Span Attachments::span_of(std::int64_t tag, Rid until) {
  Span span;
  Query query = work_.database.query(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND srcid=rid");
  query.bind(1, tag);
  while (query.step()) {
    const Rid rid = query.integer(0);
    if (until != 0 && !work_.order.before(rid, until)) continue;
    if (span.first == 0 || work_.order.before(rid, span.first)) span.first = rid;
    if (span.last == 0 || (!span.is_again && work_.order.before(span.last, rid)) ||
        (span.is_again && !work_.order.before_again(rid, span.last))) {
      span.last = rid;
      span.is_again = false;
    }
    if (until == 0) take_second_look(span, rid);
  }
  return span;
}

/// SPAN, which RID is in, ends with a second look at RID if that is the last.
void Attachments::take_second_look(Span& span, Rid rid) {
  if (span.is_again ? span.last < rid && work_.order.is_looked_at_again(rid)
                    : work_.order.before_again(span.last, rid)) {
    span.last = rid;
    span.is_again = true;
  }
}

Attachments::AttachmentTarget Attachments::attachment_target(std::string_view target, Rid until) {
  return {.ticket = span_of(work_.names.find_tag(fmt::format("tkt-{}", target)), until),
          .note = span_of(work_.names.find_tag(fmt::format("event-{}", target)), until)};
}

void Attachments::add_attachment(Rid rid, const Structural& artifact) {
  const artifact::AttachmentCard& card = *artifact.attachment;
  Query insert = work_.database.query(
      "INSERT OR REPLACE INTO attachment(attachid,mtime,src,target,filename,comment,user)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7)");
  insert.bind(1, rid).bind(2, printed_day(work_.database, base::julian_day(*artifact.date)));
  card.source.empty() ? insert.bind_null(3) : insert.bind(3, card.source);
  insert.bind(4, card.target).bind(5, card.name).bind(6, artifact.comment);
  artifact.has_user ? insert.bind(7, artifact.user) : insert.bind_null(7);
  insert.run();
  work_.database
      .query(
          "UPDATE attachment INDEXED BY attachment_idx1 SET isLatest=(mtime==(SELECT max(mtime)"
          " FROM attachment INDEXED BY attachment_idx1 WHERE target=?1 AND filename=?2))"
          " WHERE target=?1 AND filename=?2")
      .bind(1, card.target)
      .bind(2, card.name)
      .run();
  work_.pending.stale_targets.insert(std::string(card.target));
}

/// What the timeline tells of the attachment RID, where SEEN of its target has been seen.
Attachments::AttachmentEvent Attachments::attachment_event(Rid rid,
                                                           const artifact::AttachmentCard& card,
                                                           const AttachmentTarget& seen) {
  const auto& [ticket, note] = seen;
  const std::string_view target = card.target;
  const auto ends_after = [&](const Span& span, Rid other) {
    if (span.last == 0) return false;
    return span.is_again ? work_.order.before_again(other, span.last)
                         : work_.order.before(other, span.last);
  };
  const auto comes_before = [&](Rid other) { return other != 0 && work_.order.before(other, rid); };
  const bool ticket_words_it = ends_after(ticket, rid), note_words_it = ends_after(note, rid);
  char type = 'w';
  if (ticket_words_it || note_words_it) {
    const bool is_tickets = !note_words_it || (ticket_words_it && !ends_after(note, ticket.last));
    type = is_tickets ? 't' : 'e';
  } else if (comes_before(ticket.first)) {
    type = 't';
  } else if (comes_before(note.first)) {
    type = 'e';
  }

  const std::string name = base::escape_markup(card.name);
  const std::string where =
      type == 't'   ? fmt::format("ticket [{}|{}]", events_.linked(target), events_.shown(target))
      : type == 'e' ? fmt::format("tech note [/technote/{}|{}]", events_.linked(target),
                                  events_.shown(target))
                    : fmt::format("wiki page [{}]", base::escape_markup(target));
  if (!card.source.empty()) {
    return {type, fmt::format("Add attachment [/artifact/{}|{}] to {}", events_.linked(card.source),
                              name, where)};
  }
  if (type == 'e' && !note_words_it) {
    // So in fossil: the name of the file in the place of a hash.
    return {type, fmt::format("Delete attachment \"/artifact/{}|{}\" from {}",
                              events_.linked(card.name), name, where)};
  }
  return {type, fmt::format("Delete attachment \"{}\" from {}", name, where)};
}

void Attachments::refresh_attachments(const std::string& target) {
  std::vector<Rid> attachments;
  {
    Query query = work_.database.query(
        "SELECT attachid FROM attachment INDEXED BY attachment_idx1 WHERE target=?1");
    query.bind(1, target);
    while (query.step()) attachments.push_back(query.integer(0));
  }
  if (attachments.empty()) return;
  const AttachmentTarget seen = attachment_target(target, 0);
  for (const Rid rid : attachments) {
    const Manifest artifact = work_.manifests.get(rid);
    if (!artifact || artifact->type != StructuralType::kAttachment) continue;
    AttachmentEvent told = attachment_event(rid, *artifact->attachment, seen);
    events_.put_event(rid, *artifact,
                      {.type = told.type,
                       .day = printed_day(work_.database, base::julian_day(*artifact->date)),
                       .comment = std::move(told.comment)});
  }
}

}  // namespace quarry::repository
