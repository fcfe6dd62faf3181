// Attachments to wiki pages, tickets and technotes, and their removals.
//
// The kind of an attachment's target is determined from the tags of pages, tickets and technotes.
// Therefore, the attachment's row of `event` depends on whether the attachment or its target comes
// first (artifact_order.h). An attachment that comes before its target is treated as an attachment
// of a wiki page. If a ticket change or a technote with the target's id comes later, it changes the
// comment in the attachment's row of `event`.

#include "attachments.h"

#include <fmt/core.h>

#include <limits>

#include "derived/common/printed_day.h"
#include "quarry/base/escape.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

/// Returns the position of the last artifact that sets TAG on itself, or nullopt if there is none.
std::optional<ArtifactOrder::Position> Attachments::last_with(const std::string& tag) {
  Query query = work_.database.query(
      "SELECT mtime, (SELECT uuid FROM blob WHERE blob.rid=tagxref.rid) AS hash"
      " FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND srcid=rid"
      " ORDER BY mtime DESC, hash DESC LIMIT 1",
      work_.names.find_tag(tag));
  if (!query.step()) return std::nullopt;
  return ArtifactOrder::Position{query.real(0), std::string(query.text(1))};
}

void Attachments::add_attachment(Rid rid, const Structural& artifact) {
  const artifact::AttachmentCard& card = *artifact.attachment;
  work_.database.execute(
      "INSERT OR REPLACE INTO attachment(attachid,mtime,src,target,filename,comment,user)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7)",
      rid, printed_day(work_.database, *artifact.date),
      card.source.empty() ? std::nullopt : std::optional(card.source), card.target, card.name,
      artifact.comment, user_of(artifact));
  work_.database.execute(
      "UPDATE attachment INDEXED BY attachment_idx1 SET isLatest=(mtime==(SELECT max(mtime)"
      " FROM attachment INDEXED BY attachment_idx1 WHERE target=?1 AND filename=?2))"
      " WHERE target=?1 AND filename=?2",
      card.target, card.name);
  work_.pending.stale_targets.insert(std::string(card.target));
}

/// Returns the row of the timeline for the attachment RID.
Attachments::AttachmentEvent Attachments::attachment_event(Rid rid,
                                                           const artifact::AttachmentCard& card,
                                                           const AttachmentTarget& target) {
  const ArtifactOrder::Position position = work_.order.position(rid);
  const bool ticket_words_it = target.ticket > position, note_words_it = target.note > position;
  char type = 'w';
  if (ticket_words_it || note_words_it) {
    type = ticket_words_it && target.ticket > target.note ? 't' : 'e';
  } else if (target.ticket) {
    type = 't';
  } else if (target.note) {
    type = 'e';
  }

  const std::string name = base::escape_markup(card.name);
  const std::string linked = events_.linked(card.target), shown = events_.shown(card.target);
  const std::string where = type == 't' ? fmt::format("ticket [{}|{}]", linked, shown)
                            : type == 'e'
                                ? fmt::format("tech note [/technote/{}|{}]", linked, shown)
                                : fmt::format("wiki page [{}]", base::escape_markup(card.target));
  if (!card.source.empty()) {
    return {type, fmt::format("Add attachment [/artifact/{}|{}] to {}", events_.linked(card.source),
                              name, where)};
  }
  if (type == 'e' && !note_words_it) {
    // As in fossil, the link has the file name instead of a hash.
    return {type, fmt::format("Delete attachment \"/artifact/{}|{}\" from {}",
                              events_.linked(card.name), name, where)};
  }
  return {type, fmt::format("Delete attachment \"{}\" from {}", name, where)};
}

void Attachments::refresh_attachments(const std::string& target) {
  const std::vector<Rid> attachments = work_.database.integers(
      "SELECT attachid FROM attachment INDEXED BY attachment_idx1 WHERE target=?1", target);
  if (attachments.empty()) return;
  const AttachmentTarget found{.ticket = last_with("tkt-" + target),
                               .note = last_with("event-" + target)};
  for (const Rid rid : attachments) {
    const Manifest artifact = work_.manifests.get(rid);
    if (!artifact || artifact->type != StructuralType::kAttachment) continue;
    AttachmentEvent event = attachment_event(rid, *artifact->attachment, found);
    events_.put_event(rid, *artifact,
                      {.type = event.type,
                       .day = printed_day(work_.database, *artifact->date),
                       .comment = std::move(event.comment)});
  }
}

std::vector<Attachments::AttachmentEvent> Attachments::possible_events(
    Rid rid, const artifact::AttachmentCard& card, bool is_early) {
  using Position = std::optional<ArtifactOrder::Position>;
  const Position before({-1, ""}), after({std::numeric_limits<double>::max(), ""}),
      last({std::numeric_limits<double>::max(), "z"});
  const std::string target(card.target);
  std::vector<Position> tickets, notes;
  if (last_with("tkt-" + target)) tickets = {before, after, last};
  if (last_with("event-" + target)) notes = {before, after};
  if (is_early || tickets.empty()) tickets.emplace_back();
  if (is_early || notes.empty()) notes.emplace_back();
  std::vector<AttachmentEvent> events;
  for (const Position& ticket : tickets) {
    for (const Position& note : notes) {
      events.push_back(attachment_event(rid, card, {.ticket = ticket, .note = note}));
    }
  }
  return events;
}

}  // namespace quarry::repository
