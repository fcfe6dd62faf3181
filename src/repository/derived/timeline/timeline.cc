// The timeline: one `event` row for each check-in and control artifact, and the links in check-in
// comments (`backlink`).

#include "timeline.h"

#include <fmt/core.h>

#include <algorithm>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "markup/text_links.h"
#include "quarry/base/escape.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::TagCard;

namespace {

/// Returns the special description of TAG, or nullopt if there is none.
std::optional<std::string> special_sentence(const std::string& tag, std::string_view value) {
  if (tag == "*bgcolor") {
    return fmt::format(" Change branch background color to \"{}\".", base::escape_markup(value));
  }
  if (tag == "+bgcolor")
    return fmt::format(" Change background color to \"{}\".", base::escape_markup(value));
  if (tag == "+comment") return " Edit check-in comment.";
  if (tag == "+user") return fmt::format(" Change user to \"{}\".", base::escape_markup(value));
  if (tag == "+date") return fmt::format(" Timestamp {}.", base::escape_markup(value));
  return std::nullopt;
}

std::string sentence(const TagCard& card, bool in_branch_move) {
  const std::string tag = card.kind + std::string(card.name);
  if (auto special = special_sentence(tag, card.value)) return *special;
  std::string text;
  std::string_view with = "value";
  if (card.name.starts_with("sym-")) {
    // In a move to another branch, do not describe the new symbolic tag and the cancelled tag: the
    // description of the move includes them.
    if (in_branch_move && card.kind != '+') return {};
    const std::string name = base::escape_markup(card.name.substr(4));
    text = card.kind == '-'   ? fmt::format(" Cancel tag \"{}\"", name)
           : card.kind == '*' ? fmt::format(" Add propagating tag \"{}\"", name)
                              : fmt::format(" Add tag \"{}\"", name);
    with = "note";
  } else if (tag == "+closed" || tag == "-closed") {
    text = card.kind == '+' ? " Mark \"Closed\"" : " Remove the \"Closed\" mark";
    with = "note";
  } else if (tag == "-bgcolor") {
    text = " Cancel background color";
    with = "note";
  } else {
    const std::string name = base::escape_markup(card.name);
    text = card.kind == '-'   ? fmt::format(" Cancel \"{}\"", name)
           : card.kind == '*' ? fmt::format(" Add propagating \"{}\"", name)
                              : fmt::format(" Add \"{}\"", name);
  }
  if (!card.value.empty())
    text += fmt::format(" with {} \"{}\"", with, base::escape_markup(card.value));
  return text + ".";
}

}  // namespace

std::string Timeline::describe(const Structural& control) {
  std::vector<TagCard> tags = control.tags;
  std::stable_sort(tags.begin(), tags.end(),
                   [](const TagCard& a, const TagCard& b) { return a.target < b.target; });
  std::string text;
  if (control.has_comment) text = fmt::format(" {}.", control.comment);
  std::string_view target;
  bool in_branch_move = false;
  for (const TagCard& card : tags) {
    if (card.target.empty()) continue;
    if (card.target != target) {
      target = card.target;
      in_branch_move = false;
      text += fmt::format(" Edit [{}|{}]:", events_.linked(target), events_.shown(target));
    }
    if (card.kind == '*' && card.name == "branch") {
      const std::string branch = base::escape_markup(card.value);
      text += fmt::format(" Move to branch [/timeline?r={}&nd&dp={}&unhide | {}].", branch,
                          events_.linked(target), branch);
      in_branch_move = true;
      continue;
    }
    text += sentence(card, in_branch_move);
  }
  return text.empty() ? text : text.substr(1);
}

void Timeline::make_check_in_event(Rid rid, const Structural& manifest) {
  const double day = printed_day(work_.database, *manifest.date);
  work_.database.execute(
      "INSERT OR REPLACE INTO event(type,mtime,objid,user,comment,omtime)"
      " VALUES('ci',?1,?2,?3,?4,?1)",
      day, rid, user_of(manifest),
      manifest.has_comment ? std::optional(manifest.comment) : std::nullopt);
  work_.lineage.note_check_in(rid, day);
  if (!work_.is_whole) remove_backlinks(work_.database, BacklinkSource::kComment, rid);
  add_backlinks(work_.database, BacklinkSource::kComment, rid,
                text_links(manifest.comment, Markup::kWiki), day);
  events_.note_for_alerts('c', rid);
  events_.touch_search('c', rid);
  events_.note_earlier_tags(rid);
}

void Timeline::make_control_event(Rid rid, const Structural& control) {
  work_.database.execute(
      "INSERT OR REPLACE INTO event(type,mtime,objid,user,comment) VALUES('g',?1,?2,?3,?4)",
      printed_day(work_.database, *control.date), rid, user_of(control), describe(control));
  events_.note_compared_times(rid);
  events_.note_earlier_tags(rid);
  events_.note_for_alerts('g', rid);
}

}  // namespace quarry::repository
