// The operator's page: a pool as it is now, live. The page is the same for every pool, and asks, by
// a script of ours, for a document of the moment, once a second:
//
//   GET pm.status_path?live         the page
//   GET pm.status_path?live&json    the document: what is drawn, and no more, so that it stays small
//                                   with many children; for programs there is ?json&full
//
// Rates and what happened in the last minutes are the page's to reckon, from one document to the
// next: the server remembers nothing for it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "quarry/pages/figures.h"
#include "quarry/scoreboard/snapshot.h"

namespace quarry::pages {

enum class LivePart { kPage, kDocument };

/// What QUERY, the part of a URL behind its question mark, asks for; nothing: for none of this.
std::optional<LivePart> live_part_of(std::string_view query);

std::string live_page();
/// Lines, each with its end.
std::string live_page_headers();

/// SNAPSHOT as the page's script reads it. PAGES: the figures of the pool's web pages, null where it
/// has none. SELF: the child that answers, which is not told of as a request under way.
std::string live_document(const scoreboard::PoolSnapshot& snapshot, const Figures* pages,
                          pid_t self);

}  // namespace quarry::pages
