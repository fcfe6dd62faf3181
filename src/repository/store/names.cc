#include "names.h"

#include <algorithm>

namespace quarry::repository {

std::string lower_hash(std::string_view hash) {
  std::string lower(hash);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
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
  auto [found, is_new] = file_names_.try_emplace(std::string(name), 0);
  if (!is_new) return found->second;
  {
    Query query = database_.query("SELECT fnid FROM filename WHERE name=?1", name);
    if (query.step()) return found->second = query.integer(0);
  }
  database_.execute("INSERT INTO filename(name) VALUES(?1)", name);
  return found->second = database_.last_insert_rowid();
}

std::int64_t Names::tag(std::string_view name) {
  auto [found, is_new] = tags_.try_emplace(std::string(name), 0);
  if (!is_new) return found->second;
  {
    Query query = database_.query("SELECT tagid FROM tag WHERE tagname=?1", name);
    if (query.step()) return found->second = query.integer(0);
  }
  database_.execute("INSERT INTO tag(tagname) VALUES(?1)", name);
  return found->second = database_.last_insert_rowid();
}

std::int64_t Names::find_tag(std::string_view name) {
  return database_.first_integer("SELECT tagid FROM tag WHERE tagname=?1", name);
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
