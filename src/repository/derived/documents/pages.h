// Wiki pages and technotes: their tags (`tagxref`), rows of `event`, and links (`backlink`).
// pages.cc describes the rows.
//
// The derivation calls this class for new versions. The class marks the page or technote, and the
// attachments of a technote. Rows that depend on all versions are computed after all new artifacts
// have been added.
#pragma once

#include <cstdint>

#include "derived/common/events.h"
#include "derived/common/work.h"
#include "derived/tags/tags.h"
#include "document_links.h"

namespace quarry::repository {

class Pages {
 public:
  /// Arguments are not owned.
  Pages(Work& work, Events& events, Tags& tags, DocumentLinks& document_links)
      : work_(work), events_(events), tags_(tags), document_links_(document_links) {}

  // All functions throw SqliteError.

  /// Adds PAGE, whose row id is RID. DAY is the Julian day of the D card in PAGE.
  void add_wiki_page(Rid rid, const artifact::Structural& page, double day);
  void add_technote(Rid rid, const artifact::Structural& note, double day);
  /// Recomputes the links in the latest version of the page with TAG.
  void refresh_wiki_links(std::int64_t tag);
  /// Recomputes the events of the technote with TAG.
  void refresh_technote(std::int64_t tag);

 private:
  Work& work_;
  Events& events_;
  Tags& tags_;
  DocumentLinks& document_links_;
};

}  // namespace quarry::repository
