// The table `backlink`: the texts that link to an artifact. These texts are listed on the
// artifact's page.
#pragma once

#include <string>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

/// The values of backlink.srctype, with the meaning of srcid. (Technotes have the number 3, but do
/// not have rows.)
enum class BacklinkSource {
  kComment = 0,  // the artifact with the comment
  kTicket = 1,   // the ticket change
  kWiki = 2,     // the tag of the wiki page
  kForum = 4,    // the post
};

void remove_backlinks(Database& database, BacklinkSource type, std::int64_t source);
/// Adds rows for TARGETS to the rows of SOURCE. DAY is stored in the form that fossil writes
/// (printed_day.h).
void add_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                   const std::vector<std::string>& targets, double day);
/// Replaces the rows of SOURCE with rows for TARGETS.
void write_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                     const std::vector<std::string>& targets, double day);

}  // namespace quarry::repository
