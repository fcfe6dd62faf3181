// Wiki pages and technotes: documents of several versions, each an artifact that names the one
// before it (P card).
//
//   plink     from the version before to this one; tags are inherited along it
//   tagxref   the tag wiki-TITLE or event-ID on each version, with the length of the text
//   event     of a wiki page: every version; of a technote: the last one, as rebuild comes to know
//             them
//   backlink  the links in the latest version of a wiki page; a technote has none

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "backlinks.h"
#include "derivation_run.h"
#include "markup/text_links.h"
#include "printed_day.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

/// TEXT as its length is counted: without white space before it, up to the first NUL.
std::size_t counted_length(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return 0;
  text.remove_prefix(begin);
  return std::min(text.find('\0'), text.size());
}

}  // namespace

void DerivationRun::link_versions(Rid rid, const Structural& later) {
  disputes_.note_if_late(rid);
  checkin_links_.link_parents(rid, later, later.parents);
  work_.pending.new_children.insert(rid);
  const std::vector<Rid> parents = work_.lineage.parents(rid);
  if (std::ranges::any_of(parents,
                          [this](Rid parent) { return work_.lineage.is_check_in(parent); })) {
    work_.pending.stale_mlinks.insert(rid);
    work_.pending.stale_times.insert(rid);
  }
  if (const Rid parent = work_.lineage.primary_parent(rid); parent != 0)
    tags_.inherit_tags(rid, parent);
  if (later.type != StructuralType::kForumPost) put_off_.note_put_off(rid);
}

/// Fossil does not find the version before by a name in capital letters, nor what is shunned.
bool DerivationRun::has_prior(const Structural& later) {
  return !later.parents.empty() && work_.names.find_as_written(later.parents.front()) != 0;
}

void DerivationRun::add_wiki_page(Rid rid, const Structural& page, double day) {
  link_versions(rid, page);
  const std::size_t length = counted_length(page.text);
  const std::int64_t tag = work_.names.tag(fmt::format("wiki-{}", page.wiki_title));
  tags_.set_tag(tag, 1, fmt::format("{}", length), rid, day, rid);
  work_.pending.stale_pages.insert(tag);
  events_.touch_search('w', rid, page.wiki_title);
  const char mark = length == 0 ? '-' : has_prior(page) ? ':' : '+';
  events_.put_event(rid, page,
                    {.type = 'w',
                     .day = printed_day(work_.database, day),
                     .comment = fmt::format("{}{}", mark, page.wiki_title)});
}

void DerivationRun::refresh_wiki_links(std::int64_t tag) {
  std::vector<Rid> latest;
  {
    Query versions = work_.database.query(
        "SELECT rid, mtime FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 ORDER BY mtime DESC");
    versions.bind(1, tag);
    double day = 0;
    while (versions.step() && (latest.empty() || versions.real(1) == day)) {
      latest.push_back(versions.integer(0));
      day = versions.real(1);
    }
  }
  if (latest.empty()) return;
  work_.order.sort(latest);
  const Manifest page = work_.manifests.get(latest.back());
  if (!page || page->type != StructuralType::kWiki) return;
  const auto mimetype = page->mimetype.empty() ? std::nullopt : std::optional(page->mimetype);
  write_backlinks(work_.database, BacklinkSource::kWiki, tag,
                  text_links(page->text, markup_of(mimetype)),
                  printed_day(work_.database, base::julian_day(*page->date)));
}

void DerivationRun::add_technote(Rid rid, const Structural& note, double day) {
  tags_.apply_tags(rid, note, day);
  link_versions(rid, note);
  const std::int64_t tag = work_.names.tag(fmt::format("event-{}", note.technote_id));
  tags_.set_tag(tag, 1, fmt::format("{}", counted_length(note.text)), rid, day, rid);
  work_.pending.stale_technotes.insert(tag);
  work_.pending.stale_targets.insert(std::string(note.technote_id));
}

// A version makes a row unless a later one is there already; one that names the version before it
// takes away all others' rows then.
void DerivationRun::refresh_technote(std::int64_t tag) {
  struct Version {
    double day;
    bool has_prior;
  };
  std::vector<Rid> versions;
  std::map<Rid, Version> known;
  {
    Query query = work_.database.query(
        "SELECT rid, mtime FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND srcid=rid");
    query.bind(1, tag);
    while (query.step()) {
      const Rid rid = query.integer(0);
      const Manifest note = work_.manifests.get(rid);
      versions.push_back(rid);
      known[rid] = {query.real(1), note && has_prior(*note)};
    }
  }
  work_.order.sort(versions);
  std::set<Rid> shown;
  std::optional<double> latest;
  for (const Rid rid : versions) {
    const Version& version = known[rid];
    if (latest && *latest >= version.day) continue;
    if (version.has_prior) shown.clear();
    shown.insert(rid);
    latest = version.day;
  }
  for (const Rid rid : versions) {
    if (!shown.contains(rid)) {
      work_.database.query("DELETE FROM event WHERE objid=?1 AND type='e'").bind(1, rid).run();
      continue;
    }
    const Manifest note = work_.manifests.get(rid);
    if (!note || note->type != StructuralType::kTechnote) continue;
    // Without a name fossil crashes at the first search that finds the note.
    events_.touch_search('e', rid, note->comment);
    events_.put_event(
        rid, *note,
        {.type = 'e',
         .day = printed_day(work_.database, base::julian_day(*note->technote_date)),
         .comment = note->has_comment ? std::optional(std::string(note->comment)) : std::nullopt,
         .tag = tag});
  }
}

}  // namespace quarry::repository
