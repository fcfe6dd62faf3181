// The live page of a pool, for its operator. The page is the same for every pool; its script
// fetches a JSON document once a second:
//
//   GET pm.status_path?live         the page
//   GET pm.status_path?live&json    the document: only what the page draws, so that it stays small
//                                   with many children; programs use ?json&full
//   ?live&all, ?live&all&json       the same for all pools and for what they share (the courier),
//                                   if the pool may show that (pm.status_all)
//
// The page computes rates and recent history from successive documents. The server keeps no history
// for it.
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

/// Returns what QUERY, the part of a URL after the question mark, asks for, or nullopt if it asks
/// for neither of these pages.
std::optional<LivePart> live_part_of(std::string_view query);

/// Returns the page of one pool, or of all pools if IS_OF_ALL. With HAS_ALL, it links to the page
/// of all pools.
std::string live_page(bool is_of_all, bool has_all);
/// Returns header lines, each with its line end.
std::string live_page_headers(bool is_of_all);

/// Returns the JSON document of SNAPSHOT for the page's script. PAGES are the counters of the
/// pool's web pages, or null if it has none. Only the queues and the refusals in SOURCES are used.
/// SELF is the child that answers; it is not listed as an active request.
std::string live_document(const scoreboard::PoolSnapshot& snapshot, const Figures* pages,
                          const ServerSources& sources, pid_t self);
/// The current time in microseconds.
struct Moment {
  std::int64_t monotonic = 0;
  std::int64_t wall = 0;  // since 1970
};

/// Returns the document of all pools and of the courier, from SOURCES.
std::string live_document_of_all(const ServerSources& sources, const Moment& now);

}  // namespace quarry::pages
