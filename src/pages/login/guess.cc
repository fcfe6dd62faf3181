#include "guess.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "fields.h"
#include "quarry/base/blanks.h"
#include "quarry/base/result.h"
#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;
using Kind = Guess::Kind;

// Limits on a login. Real logins have smaller forms and fewer fossil cookies.
constexpr std::size_t kMaxForm = std::size_t{1} << 20;
constexpr std::size_t kMaxCookies = 16;
static_assert(kMaxCookies < Fields::kMaxValues);
constexpr std::string_view kForm = "application/x-www-form-urlencoded";
constexpr std::string_view kMultipart = "multipart/";
constexpr std::string_view kAuthorization = "HTTP_AUTHORIZATION";
constexpr std::string_view kBasic = "Basic ";
// The page shows the password of this user as a captcha.
constexpr std::string_view kAnonymous = "anonymous";
// A request that changes a password contains both of these fields.
constexpr std::string_view kNewPassword = "n1";
constexpr std::string_view kNewPasswordAgain = "n2";

bool begins_with(std::string_view text, std::string_view begin) {
  return http::same_name(text.substr(0, begin.size()), begin);
}

/// Returns all values of NAME in REQUEST. Fossil does not always use the last value.
std::vector<std::string_view> all_of(const PageRequest& request, std::string_view name) {
  std::vector<std::string_view> values;
  for (const Parameter& each : request.parameters) {
    if (each.name == name) values.push_back(each.value);
  }
  return values;
}

/// The kinds of pages with regard to passwords. A page that fossil does not list might be an alias
/// of the login page.
enum class Page { kOther, kLogin, kAlias, kJson, kGroup };

Page page_of(const Target& target, const PageNames& pages) {
  if (target.page == "login") return Page::kLogin;
  if (target.page == "json") {
    const std::string command = decoded_as_fossil_does(target.below);
    return command.empty() || command == "login" ? Page::kJson : Page::kOther;
  }
  if (target.page == "setup_login_group") return Page::kGroup;
  const bool may_be_alias = !pages.empty() && !target.page.empty() && !pages.contains(target.page);
  return may_be_alias ? Page::kAlias : Page::kOther;
}

std::expected<Fields, Refusal> fields_of(const PageRequest& request, Page page) {
  Fields fields;
  for (const std::string_view each : all_of(request, parameter::kCookie)) {
    fields.add_pairs(each, ';');
  }
  fields.add_pairs(request.get(parameter::kQueryString), '&');
  const std::size_t size = evbuffer_get_length(request.body.get());
  if (size == 0) return fields;
  if (size > kMaxForm && page != Page::kAlias) {
    return std::unexpected(Refusal{413, "the login form is too large"});
  }
  const std::string_view type = request.get(parameter::kContentType);
  std::string body(size, '\0');
  evbuffer_copyout(request.body.get(), body.data(), body.size());
  if (begins_with(type, kMultipart)) {
    fields.add_parts(body);
    return fields;
  }
  const bool is_form = page != Page::kJson || begins_with(type, kForm);
  if (is_form) fields.add_pairs(body, '&');
  if (!is_form && !fields.add_json(body)) {
    return std::unexpected(Refusal{400, "the body is not valid JSON"});
  }
  return fields;
}

/// Returns the only value of the fields NAMES (users or repositories), or nullopt if they do not
/// have a value.
std::expected<std::optional<std::string>, Refusal> only_one(
    const Fields& fields, std::initializer_list<std::string_view> names) {
  std::set<std::string> values;
  for (const std::string_view name : names) {
    for (const std::string& value : fields.values(name)) values.insert(value);
  }
  if (values.size() > 1) return std::unexpected(Refusal{400, "a login must name exactly one user"});
  if (values.empty()) return std::nullopt;
  return *values.begin();
}

/// Returns the user who logs in with FIELDS on PAGE, if FIELDS contain a password.
std::expected<std::optional<std::string>, Refusal> user_in(const Fields& fields, Page page) {
  const bool is_login = page == Page::kLogin || page == Page::kAlias;
  if (is_login && fields.has("p")) return only_one(fields, {"u"});
  const bool has_password = fields.has("p") || fields.has("password");
  if (page == Page::kJson && has_password) return only_one(fields, {"n", "name"});
  return std::nullopt;
}

/// Returns the users whose old password is in FIELDS together with a new password. If FIELDS
/// contain several cookies, only fossil can decide which of them is valid.
std::expected<std::vector<std::string>, Refusal> users_who_change(const Fields& fields) {
  std::vector<std::string> users;
  const bool is_change =
      fields.has("p") && fields.has(kNewPassword) && fields.has(kNewPasswordAgain);
  if (!is_change) return users;
  const auto cookies = fields.cookies();
  if (cookies.size() > kMaxCookies) return std::unexpected(Refusal{400, "too many cookies"});
  for (const std::string& cookie : cookies) {
    if (auto user = user_of_cookie(cookie)) users.push_back(std::move(*user));
  }
  return users;
}

/// Returns the canonical path of NAME, which an administrator has entered.
std::string file_of(const std::string& name) {
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(name, error);
  return error ? name : path.string();
}

std::expected<std::optional<Guess>, Refusal> administrator_in(const Fields& fields) {
  if (!fields.has("pw")) return std::nullopt;
  QUARRY_TRY_ASSIGN(const auto file, only_one(fields, {"repo"}));
  QUARRY_TRY_ASSIGN(const auto user, only_one(fields, {"login"}));
  if (!file || !user) return std::nullopt;
  return Guess{Kind::kGroup, file_of(*file), *user};
}

std::optional<std::string> basic_user(const PageRequest& request, bool trust_remote_user) {
  const std::string_view header = base::trim_blanks(request.get(kAuthorization));
  if (!begins_with(header, kBasic)) return std::nullopt;
  std::string words = base64_as_fossil_does(base::trim_blanks(header.substr(kBasic.size())));
  const std::size_t end = words.find(':');
  if (end == std::string::npos) return std::nullopt;
  words.resize(end);
  // The web server has already checked this password.
  if (trust_remote_user && words == request.get(parameter::kRemoteUser)) return std::nullopt;
  return words;
}

/// Returns the guesses in the parameters of REQUEST for TARGET. PAGE is the kind of TARGET's page.
std::expected<std::vector<Guess>, Refusal> guesses_in_fields(const PageRequest& request,
                                                             const Target& target, Page page) {
  std::vector<Guess> guesses;
  QUARRY_TRY_ASSIGN(const Fields fields, fields_of(request, page));
  QUARRY_TRY_ASSIGN(const auto user, user_in(fields, page));
  if (user && *user != kAnonymous) {
    const Kind kind = page == Page::kJson ? Kind::kJson : Kind::kForm;
    guesses.push_back({kind, target.file.string(), *user});
  }
  if (page == Page::kLogin || page == Page::kAlias) {
    QUARRY_TRY_ASSIGN(const auto changing, users_who_change(fields));
    for (const std::string& name : changing) {
      guesses.push_back({Kind::kChange, target.file.string(), name});
    }
  }
  if (page != Page::kGroup) return guesses;
  QUARRY_TRY_ASSIGN(const auto administrator, administrator_in(fields));
  if (administrator) guesses.push_back(*administrator);
  return guesses;
}

}  // namespace

std::optional<std::string> user_of_cookie(std::string_view value) {
  for (int i = 0; i < 2; ++i) {
    const std::size_t slash = value.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    value.remove_prefix(slash + 1);
  }
  return std::string(value);
}

bool takes_passwords(const Target& target, const PageNames& pages) {
  return page_of(target, pages) != Page::kOther;
}

std::expected<std::vector<Guess>, Refusal> guesses_in(const PageRequest& request,
                                                      const Target& target, const PageNames& pages,
                                                      bool trust_remote_user) {
  if (all_of(request, kAuthorization).size() > 1) {
    return std::unexpected(Refusal{400, "more than one Authorization header"});
  }
  std::vector<Guess> guesses;
  const Page page = page_of(target, pages);
  if (page != Page::kOther) {
    QUARRY_TRY_ASSIGN(guesses, guesses_in_fields(request, target, page));
  }
  if (auto user = basic_user(request, trust_remote_user)) {
    guesses.push_back({Kind::kBasic, target.file.string(), std::move(*user)});
  }
  return guesses;
}

}  // namespace quarry::pages
