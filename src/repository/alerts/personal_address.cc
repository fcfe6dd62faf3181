#include "quarry/repository/personal_address.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "lent_capabilities.h"
#include "quarry/base/ascii.h"
#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

constexpr std::size_t kMaxAddress = 254;  // RFC 5321, 4.5.3.1.3
constexpr std::size_t kMaxLocalPart = 64;

bool is_of_name(char c) {
  return base::is_ascii_alphanumeric(c) ||
         std::string_view(".+_-=").find(c) != std::string_view::npos;
}
bool is_of_domain(char c) {
  return base::is_ascii_alphanumeric(c) || c == '.' || c == '-';
}
bool is_dotted(std::string_view text) {
  return !text.starts_with('.') && !text.ends_with('.') && text.find("..") == text.npos;
}

/// Returns the address that LOGIN has confirmed as a subscriber. Returns an empty string if the
/// address is not confirmed or LOGIN has opted out. Returns nullopt if LOGIN is not a subscriber.
std::optional<std::string> subscribed(Database& database, std::string_view login) {
  if (!database.has_table("subscriber")) return std::nullopt;
  Query query = database.query(
      "SELECT semail, sverified IS TRUE AND sdonotcall IS NOT TRUE FROM subscriber"
      " WHERE suname=?1 ORDER BY subscriberId",
      login);
  bool is_there = false;
  while (query.step()) {
    is_there = true;
    if (query.integer(1) != 0) return std::string(query.text(0));
  }
  return is_there ? std::optional(std::string()) : std::nullopt;
}

bool may_read(std::string_view own, const LentCapabilities& lent) {
  return !own.empty() && all_capabilities(own, lent).find_first_of("oas") != std::string::npos;
}

/// Returns whether TEXT contains ADDRESS, delimited by characters that fossil accepts before and
/// after an address.
bool has_address(std::string_view text, std::string_view address) {
  constexpr std::string_view kBefore = "<,:= ", kAfter = ">,:= ";
  for (std::size_t at = text.find(address); at != text.npos; at = text.find(address, at + 1)) {
    const std::size_t end = at + address.size();
    const bool begins = at == 0 || kBefore.find(text[at - 1]) != kBefore.npos;
    const bool ends = end == text.size() || kAfter.find(text[end]) != kAfter.npos;
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

bool is_mail_address(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == text.npos || text.size() > kMaxAddress || at > kMaxLocalPart) return false;
  const std::string_view name = text.substr(0, at), domain = text.substr(at + 1);
  return !name.empty() && std::ranges::all_of(name, is_of_name) && is_dotted(name) &&
         !name.starts_with('-') && domain.find('.') != domain.npos &&
         std::ranges::all_of(domain, is_of_domain) && is_dotted(domain) &&
         !domain.starts_with('-') && !domain.ends_with('-');
}

std::string mail_address_in(std::string_view text) {
  for (std::size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    std::size_t begin = at, end = at + 1;
    while (begin > 0 && is_of_name(text[begin - 1])) --begin;
    while (end < text.size() && is_of_domain(text[end])) ++end;
    // Remove the full stop at the end of a sentence.
    while (end > at + 1 && text[end - 1] == '.') --end;
    const std::string_view found = text.substr(begin, end - begin);
    if (is_mail_address(found)) return std::string(found);
  }
  return {};
}

Result<std::string> personal_address(Repository& repository, std::string_view login) {
  return guarded(repository.internals(), [&](Database& database) -> Result<std::string> {
    Query user = database.query("SELECT cap, info FROM user WHERE login=?1", login);
    if (!user.step()) return std::string();
    const std::string own(user.text(0)), info(user.text(1));
    if (!may_read(own, lent_capabilities(database))) return std::string();
    const auto address = subscribed(database, login);
    if (!address) return mail_address_in(info);
    return is_mail_address(*address) ? *address : std::string();
  });
}

Result<std::vector<std::string>> users_for_login(Repository& repository, std::string_view name,
                                                 std::size_t limit) {
  return guarded(repository.internals(), [&](Database& database) {
    Query query = database.query(
        "SELECT login, info FROM user WHERE login=?1"
        " OR (instr(login,'@')=0 AND instr(info,?1)>0)",
        name);
    std::vector<std::string> users;
    while (users.size() < limit && query.step()) {
      const std::string_view login = query.text(0);
      if (login == name || has_address(query.text(1), name)) users.emplace_back(login);
    }
    return users;
  });
}

}  // namespace quarry::repository
