// The operator's page: a pool as it is now, live. The page is the same for every pool, and asks, by
// a script of ours, for a document of the moment, once a second:
//
//   GET pm.status_path?live         the page
//   GET pm.status_path?live&json    the document: what is drawn, and no more, so that it stays small
//                                   with many children; for programs there is ?json&full
//   ?live&all, ?live&all&json       the same of all pools and of what they share (the courier): only
//                                   where the pool may show that (pm.status_all)
//
// Rates and what happened in the last minutes are the page's to reckon, from one document to the
// next: the server remembers nothing for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/pages/figures.h"
#include "quarry/pages/server_view.h"
#include "quarry/scoreboard/snapshot.h"

namespace quarry::pages {

struct LivePart {
  bool is_document = false;
  bool is_of_all = false;

  friend bool operator==(const LivePart&, const LivePart&) = default;
};

/// What QUERY, the part of a URL behind its question mark, asks for; nothing: for none of this.
std::optional<LivePart> live_part_of(std::string_view query);

/// Of one pool, or IS_OF_ALL. HAS_ALL: there is the page of all.
std::string live_page(bool is_of_all, bool has_all);
/// Lines, each with its end.
std::string live_page_headers(bool is_of_all);

/// SNAPSHOT as the page's script reads it. PAGES: the figures of the pool's web pages, null where it
/// has none. SOURCES: only the queues and the refusals. SELF: the child that answers, which is not told of as a request
/// under way.
std::string live_document(const scoreboard::PoolSnapshot& snapshot, const Figures* pages,
                          const ServerSources& sources, pid_t self);
/// Now, in microseconds.
struct Moment {
  std::int64_t monotonic = 0;
  std::int64_t wall = 0;  // since 1970
};

/// What SOURCES have of all pools and the courier.
std::string live_document_of_all(const ServerSources& sources, const Moment& now);

}  // namespace quarry::pages
