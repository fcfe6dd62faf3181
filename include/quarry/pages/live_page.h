// The live page of a pool, for its operator. The HTML is the same for all pools. The script in it
// fetches the figures of the pool as a JSON document once a second:
//
//   GET pm.status_path?live         the page
//   GET pm.status_path?live&json    the document. It contains only what the page shows, so it is
//                                   small even with many children; programs use ?json&full
//   ?live&all, ?live&all&json       the page and document of all pools and of the courier, if
//                                   pm.status_all is set
//
// The page computes rates and recent history from successive documents. The server does not store a
// history.
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

/// Returns the part of the live page that is requested by QUERY, the part of a URL after the
/// question mark. Returns nullopt for other queries.
std::optional<LivePart> live_part_of(std::string_view query);

/// Returns the page of one pool, or of all pools if IS_OF_ALL. If HAS_ALL, the page has a link to
/// the page of all pools.
std::string live_page(bool is_of_all, bool has_all);
/// Returns the headers of the live page. Each header ends with a line end.
std::string live_page_headers(bool is_of_all);

/// Returns the JSON document of SNAPSHOT for the page's script. PAGES are the counters of the
/// pool's web pages, or null for a pool without pages. Only the queues and the refusals in SOURCES
/// are used. SELF is the child that answers; the document shows it as idle. Requests of live pages
/// are not counted.
std::string live_document(scoreboard::PoolSnapshot snapshot, const Figures* pages,
                          const ServerSources& sources, pid_t self);
/// The current time in microseconds.
struct Moment {
  std::int64_t monotonic = 0;
  std::int64_t wall = 0;  // since 1970
};

/// Returns the JSON document of all pools and of the courier.
std::string live_document_of_all(const ServerSources& sources, const Moment& now);

}  // namespace quarry::pages
