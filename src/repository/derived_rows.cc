#include "derived_rows.h"

#include <fmt/core.h>

#include <array>

#include "ticket_fields.h"

namespace quarry::repository {
namespace {

// A table that a repository does not have has no rows. The ticket tables, whose columns are the
// project's own, are added to these.
const auto kComparisons = std::to_array<DerivedRows>({
    {"event",
     "SELECT (SELECT uuid FROM blob WHERE rid=objid)||': '||type||' '||quote(mtime)||' '||"
     "quote(omtime)||' user '||quote(user)||' '||quote(euser)||' colour '||quote(bgcolor)||"
     "' comment '||quote(comment)||' '||quote(ecomment)||' '||quote(brief)||' '||"
     "coalesce((SELECT tagname FROM tag WHERE tag.tagid=event.tagid),'') FROM event"},
    {"plink",
     "SELECT (SELECT uuid FROM blob WHERE rid=pid)||' -> '||(SELECT uuid FROM blob WHERE rid=cid)||"
     "' primary '||isprim||' '||quote(mtime)||' baseline '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=baseid),'none') FROM plink"},
    {"mlink",
     "SELECT (SELECT uuid FROM blob WHERE rid=mid)||' '||coalesce((SELECT name FROM filename WHERE "
     "filename.fnid=mlink.fnid),'?')||' to '||coalesce((SELECT uuid FROM blob WHERE rid=fid),fid)||"
     "' parent '||coalesce((SELECT uuid FROM blob WHERE rid=pmid),pmid)||' from '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=pid),pid)||' was '||coalesce((SELECT name FROM "
     "filename WHERE filename.fnid=pfnid),pfnid)||' perm '||mperm||' aux '||isaux FROM mlink"},
    {"cherrypick",
     "SELECT (SELECT uuid FROM blob WHERE rid=parentid)||' -> '||(SELECT uuid FROM blob WHERE "
     "rid=childid)||' exclude '||isExclude FROM cherrypick"},
    {"leaf", "SELECT (SELECT uuid FROM blob WHERE blob.rid=leaf.rid) FROM leaf"},
    {"tagxref",
     "SELECT (SELECT uuid FROM blob WHERE blob.rid=tagxref.rid)||' '||(SELECT tagname FROM tag "
     "WHERE "
     "tag.tagid=tagxref.tagid)||' type '||tagtype||' by '||coalesce((SELECT uuid FROM blob WHERE "
     "rid=srcid),srcid)||' from '||coalesce((SELECT uuid FROM blob WHERE rid=origid),origid)||' '||"
     "quote(value)||' '||CASE tagid WHEN 7 THEN '' ELSE quote(mtime) END FROM tagxref"},
    {"backlink",
     "SELECT CASE srctype WHEN 2 THEN (SELECT tagname FROM tag WHERE tagid=srcid) ELSE (SELECT uuid"
     " FROM blob WHERE rid=srcid) END||' ('||srctype||') links to '||target||' '||quote(mtime)"
     " FROM backlink"},
    {"attachment",
     "SELECT (SELECT uuid FROM blob WHERE rid=attachid)||' latest '||isLatest||' '||quote(mtime)||"
     "' '||quote(src)||' to '||quote(target)||' as '||quote(filename)||' comment "
     "'||quote(comment)||"
     "' user '||quote(user) FROM attachment"},
    {"forumpost",
     "SELECT (SELECT uuid FROM blob WHERE rid=fpid)||' root '||(SELECT uuid FROM blob WHERE "
     "rid=froot)||' after '||coalesce((SELECT uuid FROM blob WHERE rid=fprev),'none')||' to '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=firt),'none')||' '||quote(fmtime) FROM forumpost"},
    // What is shunned may stand in these two until a rebuild takes it out, and what a rebuild finds
    // to be private in the first until the next one.
    {"unclustered",
     "SELECT uuid FROM unclustered JOIN blob USING(rid) WHERE uuid NOT IN (SELECT uuid FROM shun)"
     " AND rid NOT IN (SELECT rid FROM private)"},
    {"phantom",
     "SELECT uuid FROM phantom JOIN blob USING(rid) WHERE uuid NOT IN (SELECT uuid FROM shun)"},
    {"orphan",
     "SELECT (SELECT uuid FROM blob WHERE blob.rid=orphan.rid)||' waits for '||"
     "(SELECT uuid FROM blob WHERE blob.rid=orphan.baseline) FROM orphan"},
});

/// A SELECT of the rows of a ticket table, each column by its name, those with row numbers as the
/// names that these stand for.
std::string ticket_rows(Database& database, const std::string& table) {
  std::string rows;
  Query columns = database.query("SELECT name FROM pragma_table_info(?1)");
  columns.bind(1, table);
  while (columns.step()) {
    const std::string_view name = columns.text(0);
    if (name == "tkt_id" && table == "ticket") continue;
    std::string value = fmt::format("quote({}.{})", table, sql_name(name));
    if (name == "tkt_id") {
      value = "quote((SELECT tkt_uuid FROM ticket WHERE ticket.tkt_id=ticketchng.tkt_id))";
    }
    if (name == "tkt_rid" || name.starts_with("baseline for ")) {
      value = fmt::format("quote((SELECT uuid FROM blob WHERE rid={}.{}))", table, sql_name(name));
    }
    rows += fmt::format("{}{}||' '", rows.empty() ? "" : "||", value);
  }
  return fmt::format("SELECT {} FROM {}", rows, table);
}

}  // namespace

std::vector<DerivedRows> derived_rows(Database& database) {
  std::vector<DerivedRows> found;
  for (const DerivedRows& each : kComparisons) {
    if (database.has_table(each.table)) found.push_back(each);
  }
  for (const char* table : {"ticket", "ticketchng"}) {
    if (database.has_table(table)) found.push_back({table, ticket_rows(database, table)});
  }
  return found;
}

}  // namespace quarry::repository
