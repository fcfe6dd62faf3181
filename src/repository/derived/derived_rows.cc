#include "derived_rows.h"

#include <fmt/core.h>

#include <array>

#include "tickets/ticket_fields.h"

namespace quarry::repository {
namespace {

// The tables to compare. A missing table is treated as empty. The ticket tables are added later,
// because their columns depend on the project.
const auto kComparisons = std::to_array<DerivedRows>({
    {"event", "objid,type,mtime,omtime,user,euser,bgcolor,comment,ecomment,brief,tagid",
     "(SELECT uuid FROM blob WHERE rid=objid)||': '||type||' '||quote(mtime)||' '||"
     "quote(omtime)||' user '||quote(user)||' '||quote(euser)||' colour '||quote(bgcolor)||"
     "' comment '||quote(comment)||' '||quote(ecomment)||' '||quote(brief)||' '||"
     "coalesce((SELECT tagname FROM tag WHERE tag.tagid=event.tagid),'')",
     "", "objid,0"},
    {"plink", "pid,cid,isprim,mtime,baseid",
     "(SELECT uuid FROM blob WHERE rid=pid)||' -> '||(SELECT uuid FROM blob WHERE rid=cid)||"
     "' primary '||isprim||' '||quote(mtime)||' baseline '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=baseid),'none')",
     "", "cid,0"},
    {"mlink", "mid,fnid,fid,pmid,pid,pfnid,mperm,isaux",
     "(SELECT uuid FROM blob WHERE rid=mid)||' '||coalesce((SELECT name FROM filename WHERE "
     "filename.fnid=mlink.fnid),'?')||' to '||coalesce((SELECT uuid FROM blob WHERE rid=fid),fid)||"
     "' parent '||coalesce((SELECT uuid FROM blob WHERE rid=pmid),pmid)||' from '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=pid),pid)||' was '||coalesce((SELECT name FROM "
     "filename WHERE filename.fnid=pfnid),pfnid)||' perm '||mperm||' aux '||isaux",
     "", "mid,0"},
    {"cherrypick", "parentid,childid,isExclude",
     "(SELECT uuid FROM blob WHERE rid=parentid)||' -> '||(SELECT uuid FROM blob WHERE "
     "rid=childid)||' exclude '||isExclude",
     "", "childid,0"},
    {"leaf", "rid", "(SELECT uuid FROM blob WHERE blob.rid=leaf.rid)", "", "rid,0"},
    // The time of a cluster tag is not compared, because it is the time of processing.
    {"tagxref",
     "rid,tagid,tagtype,srcid,origid,value,CASE tagid WHEN 7 THEN NULL ELSE mtime END AS mtime",
     "(SELECT uuid FROM blob WHERE blob.rid=tagxref.rid)||' '||(SELECT tagname FROM tag WHERE "
     "tag.tagid=tagxref.tagid)||' type '||tagtype||' by '||coalesce((SELECT uuid FROM blob WHERE "
     "rid=srcid),srcid)||' from '||coalesce((SELECT uuid FROM blob WHERE rid=origid),origid)||' '||"
     "quote(value)||' '||CASE tagid WHEN 7 THEN '' ELSE quote(mtime) END",
     "", "rid,tagid"},
    {"backlink", "target,srctype,srcid,mtime",
     "CASE srctype WHEN 2 THEN (SELECT tagname FROM tag WHERE tagid=srcid) ELSE (SELECT uuid"
     " FROM blob WHERE rid=srcid) END||' ('||srctype||') links to '||target||' '||quote(mtime)",
     "", "srcid,srctype"},
    {"attachment", "attachid,isLatest,mtime,src,target,filename,comment,user",
     "(SELECT uuid FROM blob WHERE rid=attachid)||' latest '||isLatest||' '||quote(mtime)||"
     "' '||quote(src)||' to '||quote(target)||' as '||quote(filename)||' comment "
     "'||quote(comment)||"
     "' user '||quote(user)",
     "", "attachid,0"},
    {"forumpost", "fpid,froot,fprev,firt,fmtime",
     "(SELECT uuid FROM blob WHERE rid=fpid)||' root '||(SELECT uuid FROM blob WHERE "
     "rid=froot)||' after '||coalesce((SELECT uuid FROM blob WHERE rid=fprev),'none')||' to '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=firt),'none')||' '||quote(fmtime)",
     "", "fpid,0"},
    // Do not compare shunned artifacts in `unclustered` and `phantom`: until a rebuild, these
    // tables can contain shunned artifacts. Do not compare private artifacts in `unclustered`
    // either: if a rebuild has made an artifact private, its row remains until the next rebuild.
    {"unclustered", "rid", "(SELECT uuid FROM blob WHERE blob.rid=unclustered.rid)",
     "EXISTS(SELECT 1 FROM blob WHERE blob.rid=unclustered.rid AND uuid NOT IN"
     " (SELECT uuid FROM shun)) AND rid NOT IN (SELECT rid FROM private)",
     "rid,0"},
    {"phantom", "rid", "(SELECT uuid FROM blob WHERE blob.rid=phantom.rid)",
     "EXISTS(SELECT 1 FROM blob WHERE blob.rid=phantom.rid AND uuid NOT IN"
     " (SELECT uuid FROM shun))",
     "rid,0"},
    {"orphan", "rid,baseline",
     "(SELECT uuid FROM blob WHERE blob.rid=orphan.rid)||' waits for '||"
     "(SELECT uuid FROM blob WHERE blob.rid=orphan.baseline)",
     "", "rid,0"},
});

/// Returns the rows of a ticket table. Columns with row ids are rendered as names, because a
/// rebuild changes the ids of tickets.
DerivedRows ticket_rows(Database& database, const char* table) {
  std::string rows;
  Query columns = database.query("SELECT name FROM pragma_table_info(?1)", table);
  while (columns.step()) {
    const std::string_view name = columns.text(0);
    if (name == "tkt_id" && table == std::string_view("ticket")) continue;
    std::string value = fmt::format("quote({}.{})", table, sql_name(name));
    if (name == "tkt_id") {
      value = "quote((SELECT tkt_uuid FROM ticket WHERE ticket.tkt_id=ticketchng.tkt_id))";
    }
    if (name == "tkt_rid" || name.starts_with("baseline for ")) {
      value = fmt::format("quote((SELECT uuid FROM blob WHERE rid={}.{}))", table, sql_name(name));
    }
    rows += fmt::format("{}{}||' '", rows.empty() ? "" : "||", value);
  }
  const char* id = table == std::string_view("ticket")
                       ? "tkt_uuid"
                       : "(SELECT tkt_uuid FROM ticket WHERE ticket.tkt_id=ticketchng.tkt_id)";
  const std::string tag = fmt::format("(SELECT tagid FROM tag WHERE tagname='tkt-'||{})", id);
  return {table, fmt::format("{} AS line, {} AS tag", rows, tag), "line", "", "tag,0"};
}

}  // namespace

std::string DerivedRows::select_columns() const {
  return fmt::format("SELECT {} FROM {}{}{}", columns, table, condition.empty() ? "" : " WHERE ",
                     condition);
}

std::vector<DerivedRows> derived_rows(Database& database) {
  std::vector<DerivedRows> found;
  for (const DerivedRows& each : kComparisons) {
    if (database.has_table(each.table)) found.push_back(each);
  }
  for (const char* table : {"ticket", "ticketchng"}) {
    if (database.has_table(table)) found.push_back(ticket_rows(database, table));
  }
  return found;
}

}  // namespace quarry::repository
