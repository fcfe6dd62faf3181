// Wiki pages and technotes: documents with several versions (document_links.h).
//
//   tagxref   the tag wiki-TITLE or event-ID on each version, with the length of the text
//   event     a row for every version of a wiki page, and usually only for the last version of a
//             technote (see refresh_technote())
//   backlink  the links in the latest version of a wiki page; technotes do not have rows

#include "pages.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "markup/text_links.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

/// Returns the length of TEXT without leading white space, up to the first NUL.
std::size_t counted_length(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return 0;
  text.remove_prefix(begin);
  return std::min(text.find('\0'), text.size());
}

}  // namespace

void Pages::add_wiki_page(Rid rid, const Structural& page, double day) {
  document_links_.link_versions(rid, page);
  const std::size_t length = counted_length(page.text);
  const std::int64_t tag = work_.names.tag(fmt::format("wiki-{}", page.wiki_title));
  tags_.set_tag(tag, 1, fmt::format("{}", length), rid, day, rid);
  work_.pending.stale_pages.insert(tag);
  events_.touch_search('w', rid, page.wiki_title);
  const char mark = length == 0 ? '-' : document_links_.has_prior(page) ? ':' : '+';
  events_.put_event(rid, page,
                    {.type = 'w',
                     .day = printed_day(work_.database, day),
                     .comment = fmt::format("{}{}", mark, page.wiki_title)});
}

void Pages::refresh_wiki_links(std::int64_t tag) {
  std::vector<Rid> latest;
  {
    Query versions = work_.database.query(
        "SELECT rid, mtime FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 ORDER BY mtime DESC",
        tag);
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
                  printed_day(work_.database, *page->date));
}

void Pages::add_technote(Rid rid, const Structural& note, double day) {
  tags_.apply_tags(rid, note, day);
  document_links_.link_versions(rid, note);
  const std::int64_t tag = work_.names.tag(fmt::format("event-{}", note.technote_id));
  tags_.set_tag(tag, 1, fmt::format("{}", counted_length(note.text)), rid, day, rid);
  work_.pending.stale_technotes.insert(tag);
  work_.pending.stale_targets.insert(std::string(note.technote_id));
}

// Recomputes the events of the technote with TAG, with the same result as fossil. Versions are
// processed in the order of artifact_order.h. A version gets a row only if its date is later
// than the dates of all versions that precede it. If this version also refers to its previous
// version, the rows of all preceding versions are removed.
void Pages::refresh_technote(std::int64_t tag) {
  struct Version {
    double day;
    bool has_prior;
  };
  std::vector<Rid> versions;
  std::map<Rid, Version> known;
  {
    Query query = work_.database.query(
        "SELECT rid, mtime FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND srcid=rid", tag);
    while (query.step()) {
      const Rid rid = query.integer(0);
      const Manifest note = work_.manifests.get(rid);
      versions.push_back(rid);
      known[rid] = {query.real(1), note && document_links_.has_prior(*note)};
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
      work_.database.execute("DELETE FROM event WHERE objid=?1 AND type='e'", rid);
      continue;
    }
    const Manifest note = work_.manifests.get(rid);
    if (!note || note->type != StructuralType::kTechnote) continue;
    // Pass the comment as the title: fossil crashes when a search finds a technote without a title.
    events_.touch_search('e', rid, note->comment);
    events_.put_event(
        rid, *note,
        {.type = 'e',
         .day = printed_day(work_.database, *note->technote_date),
         .comment = note->has_comment ? std::optional(std::string(note->comment)) : std::nullopt,
         .tag = tag});
  }
}

}  // namespace quarry::repository
