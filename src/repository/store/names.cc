#include "names.h"

#include <algorithm>

#include "quarry/base/ascii.h"

namespace quarry::repository {

std::string lower_hash(std::string_view hash) {
  std::string lower(hash);
  std::ranges::transform(lower, lower.begin(), base::ascii_lower);
  return lower;
}

Rid Names::find(std::string_view hash) {
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'F'; };
  if (std::ranges::none_of(hash, is_capital)) return find_as_written(hash);
  return find_as_written(lower_hash(hash));
}

Rid Names::find_as_written(std::string_view hash) {
  if (artifacts_) {
    if (const auto name = artifact::HashName::parse(hash)) {
      const auto found = artifacts_->find(*name);
      return found == artifacts_->end() ? 0 : found->second;
    }
  }
  return database_.first_integer("SELECT rid FROM blob WHERE uuid=?1", hash);
}

Rid Names::need(std::string_view hash) {
  const Rid rid = find(hash);
  if (rid != 0) return rid;
  const std::string lower = lower_hash(hash);
  if (database_.has_row("SELECT 1 FROM shun WHERE uuid=?1", lower)) return 0;
  return make_phantom(lower, false);
}

Rid Names::make_phantom(std::string_view hash, bool is_private) {
  database_.execute("INSERT INTO blob(rcvid,size,uuid,content) VALUES(0,-1,?1,NULL)", hash);
  const Rid rid = database_.last_insert_rowid();
  if (artifacts_) {
    if (const auto name = artifact::HashName::parse(hash)) artifacts_->emplace(*name, rid);
  }
  database_.execute("INSERT OR IGNORE INTO phantom(rid) VALUES(?1)", rid);
  if (is_private) {
    database_.execute("INSERT OR IGNORE INTO private(rid) VALUES(?1)", rid);
  } else {
    database_.execute("INSERT OR IGNORE INTO unclustered(rid) VALUES(?1)", rid);
  }
  return rid;
}

std::string Names::hash_of(Rid rid) {
  return database_.first_text("SELECT uuid FROM blob WHERE rid=?1", rid);
}

std::int64_t Names::file_name(std::string_view name) {
  std::int64_t& number = file_names_[std::string(name)];
  if (number != 0) return number;
  number = database_.first_integer("SELECT fnid FROM filename WHERE name=?1", name);
  if (number != 0) return number;
  database_.execute("INSERT INTO filename(name) VALUES(?1)", name);
  return number = database_.last_insert_rowid();
}

std::int64_t Names::tag(std::string_view name) {
  std::int64_t& number = tags_[std::string(name)];
  if (number == 0) number = find_tag(name);
  if (number != 0) return number;
  database_.execute("INSERT INTO tag(tagname) VALUES(?1)", name);
  return number = database_.last_insert_rowid();
}

std::int64_t Names::find_tag(std::string_view name) {
  return database_.first_integer("SELECT tagid FROM tag WHERE tagname=?1", name);
}

std::vector<std::string> Names::symbolic_tags(Rid rid, std::size_t limit) {
  constexpr std::string_view kPrefix = "sym-";
  Query query = database_.query(
      "SELECT (SELECT tagname FROM tag WHERE tag.tagid=tagxref.tagid)"
      " FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND tagtype>0",
      rid);
  std::vector<std::string> tags;
  while (tags.size() < limit && query.step()) {
    if (!query.text(0).starts_with(kPrefix)) continue;
    tags.emplace_back(query.text(0).substr(kPrefix.size()));
  }
  return tags;
}

void Names::hold() {
  artifacts_.emplace();
  Query query = database_.query("SELECT uuid, rid FROM blob");
  while (query.step()) {
    if (const auto name = artifact::HashName::parse(query.text(0))) {
      artifacts_->emplace(*name, query.integer(1));
    }
  }
}

void Names::forget_all() {
  artifacts_.reset();
  file_names_.clear();
  tags_.clear();
}

}  // namespace quarry::repository
