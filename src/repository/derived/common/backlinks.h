// The table `backlink`: which texts link to an artifact. It is shown on the artifact's page.
#pragma once

#include <string>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

/// The values of backlink.srctype. The comment of each says what srcid refers to. (Technotes have a
/// number, 3, but no rows.)
enum class BacklinkSource {
  kComment = 0,  // the artifact with the comment
  kTicket = 1,   // the ticket change
  kWiki = 2,     // the tag of the wiki page
  kForum = 4,    // the post
};

/// Removes the rows of one source.
void remove_backlinks(Database& database, BacklinkSource type, std::int64_t source);
/// Adds rows for TARGETS to those of one source. DAY is stored in the form that fossil prints.
void add_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                   const std::vector<std::string>& targets, double day);
/// Replaces the rows of one source with rows for TARGETS.
void write_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                     const std::vector<std::string>& targets, double day);

}  // namespace quarry::repository
