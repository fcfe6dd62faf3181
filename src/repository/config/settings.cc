// Settings and users, cached until the file changes.

#include "quarry/base/number.h"
#include "repository_state.h"
#include "store/hash_policy.h"

namespace quarry::repository {
namespace {

constexpr std::int64_t kMonthSeconds = std::int64_t{31} * 24 * 3600;

}  // namespace

std::optional<std::string> Settings::get(std::string_view name) {
  if (const auto found = state_->settings.find(name); found != state_->settings.end()) {
    return found->second;
  }
  std::optional<std::string> value;
  Query query = state_->database.query("SELECT value FROM config WHERE name=?1", name);
  if (query.step() && !query.is_null(0)) value = std::string(query.text(0));
  return state_->settings.emplace(std::string(name), std::move(value)).first->second;
}

std::vector<std::string> Settings::names_with(std::string_view prefix) {
  std::vector<std::string> names;
  // END is greater than all names with PREFIX, because the byte FF is greater than all bytes of
  // valid UTF-8.
  Query query =
      state_->database.query("SELECT name FROM config WHERE name>=?1 AND name<?2 ORDER BY name");
  const std::string end = std::string(prefix) + "\xff";
  query.bind(prefix, end);
  while (query.step()) names.emplace_back(query.text(0));
  return names;
}

std::int64_t Settings::get_int(std::string_view name, std::int64_t otherwise) {
  const auto value = get(name);
  if (!value) return otherwise;
  std::string_view text = *value;
  return base::take_number<std::int64_t>(text).value_or(otherwise);
}

bool Settings::get_bool(std::string_view name, bool otherwise) {
  const auto value = get(name);
  if (!value) return otherwise;
  if (*value == "1" || *value == "on" || *value == "yes" || *value == "true") return true;
  if (*value == "0" || *value == "off" || *value == "no" || *value == "false") return false;
  return otherwise;
}

bool Settings::shuns_hash_of(const artifact::HashName& name) {
  return name.algorithm() == artifact::HashAlgorithm::kSha1 &&
         is_shun_sha1(get_int(kHashPolicySetting, 0));
}

artifact::HashAlgorithm Settings::hash_of_own() {
  return hash_for_own(state_->database);
}

const std::string& Settings::project_code() {
  if (state_->project_code.empty()) state_->project_code = get("project-code").value_or("");
  return state_->project_code;
}

const std::string& Settings::server_code() {
  if (state_->server_code.empty()) state_->server_code = get("server-code").value_or("");
  return state_->server_code;
}

std::optional<User> Settings::find_user(std::string_view login) {
  // Cache only existing users, so that clients cannot fill the memory with other names.
  if (const auto found = state_->users.find(login); found != state_->users.end()) {
    return found->second;
  }
  Query query = state_->database.query(
      "SELECT uid, login, pw, cap FROM user WHERE login=?1 AND length(login)>0", login);
  if (!query.step()) return std::nullopt;
  User user{query.integer(0), std::string(query.text(1)), std::string(query.text(2)),
            std::string(query.text(3))};
  return state_->users.emplace(std::string(login), std::move(user)).first->second;
}

std::string Settings::web_login_of(std::string_view login) {
  Query query = state_->database.query(
      "SELECT cookie FROM user WHERE login=?1 AND cexpire>julianday(?2,'unixepoch')"
      " AND length(cap)>0 AND length(pw)>0 AND length(cookie)>30",
      login, state_->options.clock->now().value / 1000);
  return query.step() ? std::string(query.text(0)) : std::string();
}

std::string Settings::all_capabilities(const User& user) {
  std::string letters = user.capabilities;
  const auto lend = [&](std::string_view login) {
    const auto lender = find_user(login);
    const std::string lent = lender ? lender->capabilities : std::string();
    letters += lent;
    return lent;
  };
  bool reader = letters.contains('u');
  const bool developer = letters.contains('v');
  // `reader` and `developer` can inherit from each other. Each of them is looked up at most once.
  if (developer) reader = lend("developer").contains('u') || reader;
  if (reader && lend("reader").contains('v') && !developer) lend("developer");
  return letters;
}

//   config   `syncwith:URL`   this repository has synced with the other repository
//            `syncfrom:URL`   the other repository has synced with this one, and sent its URL
//            `gitpush:URL`    a git mirror
//
// mtime is the time of the last sync.
std::vector<SyncLink> Settings::sync_links(std::string_view own_url) {
  Query query = state_->database.query(
      "WITH known(url, about, mtime) AS ("
      " SELECT substr(name,10), '{}', mtime FROM config WHERE name GLOB 'syncwith:http*'"
      " UNION ALL SELECT substr(name,10), '{}', mtime FROM config WHERE name GLOB 'syncfrom:http*'"
      " UNION ALL SELECT substr(name,9), '{\"type\":\"git\"}', mtime FROM config"
      "  WHERE name GLOB 'gitpush:*')"
      " SELECT url, json_insert(about,'$.src',?1), max(mtime) FROM known WHERE mtime>?2"
      " GROUP BY url",
      own_url, state_->options.clock->now().value / 1000 - kMonthSeconds);
  std::vector<SyncLink> links;
  while (query.step()) {
    links.push_back({std::string(query.text(0)), std::string(query.text(1)), query.integer(2)});
  }
  return links;
}

}  // namespace quarry::repository
