#include "guess.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <set>
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
constexpr char kFormType[] = "application/x-www-form-urlencoded";
constexpr char kJsonType[] = "application/json";
constexpr std::string_view kMultipart = "multipart/form-data";
constexpr std::string_view kAuthorization = "HTTP_AUTHORIZATION";
constexpr std::string_view kBasic = "Basic ";
// A login as this user is not a guess, because the login page shows the user's password as a
// captcha.
constexpr std::string_view kAnonymous = "anonymous";
// The two fields for the new password in a request that changes a password.
constexpr std::string_view kNewPassword = "n1";
constexpr std::string_view kNewPasswordAgain = "n2";
// A request to any page is a login if it has these two parameters.
constexpr std::string_view kTokenUser = "resid";
constexpr std::string_view kToken = "token";
constexpr char kTooMany[] = "too many parameters";
// If one of these words follows the repository's name in a path, fossil shows its login page.
constexpr auto kLoginPages = std::to_array<std::string_view>({"login", "logout", "my"});

// Values of Guess::sign. kFailedJson matches the errors 2100 to 2104 of fossil's JSON API (failed
// logins), and all other permission errors.
constexpr std::string_view kFailedJson = "\"FOSSIL-2";
constexpr std::string_view kWrongJson = "\"FOSSIL-2104";
constexpr std::string_view kWrongOldPassword = "incorrect old password";
constexpr std::string_view kWrongAdministrator = "does not correspond to a user";
constexpr std::string_view kWrongForm = "class=\"loginError\">\nYou entered an ";

bool begins_with(std::string_view text, std::string_view begin) {
  return http::same_name(text.substr(0, begin.size()), begin);
}

/// Returns all values of NAME in REQUEST. REQUEST.get() would return only the last value.
std::vector<std::string_view> all_of(const PageRequest& request, std::string_view name) {
  std::vector<std::string_view> values;
  for (const Parameter& each : request.parameters) {
    if (each.name == name) values.push_back(each.value);
  }
  return values;
}

/// Kinds of pages. The kind determines which fields of a request fossil reads as a password. kAlias
/// is a page that is not in fossil's list of pages, so it might be an alias of the login page.
/// kScript is a script of the operator. Fossil does not read the forms of such scripts.
enum class Page { kOther, kScript, kLogin, kAlias, kJson, kGroup };

Page page_of(const Target& target, const PageNames& pages) {
  if (std::ranges::find(kLoginPages, target.page) != kLoginPages.end()) return Page::kLogin;
  if (target.page == "json") {
    const std::string command = decoded_as_fossil_does(target.below);
    return command.empty() || command == "login" ? Page::kJson : Page::kOther;
  }
  if (target.page == "setup_login_group") return Page::kGroup;
  if (target.page == "ext") return Page::kScript;
  const bool may_be_alias = !pages.empty() && !target.page.empty() && !pages.contains(target.page);
  return may_be_alias ? Page::kAlias : Page::kOther;
}

bool takes_passwords(Page page) {
  return page != Page::kOther && page != Page::kScript;
}

/// Reads the parameters in the body of REQUEST into FIELDS. If PAGE accepts passwords, also
/// replaces a form or JSON document with the parameters that were read, so that fossil cannot parse
/// the original text differently.
std::optional<Refusal> read_body(PageRequest& request, Page page, Fields& fields) {
  const std::size_t size = evbuffer_get_length(request.body.get());
  if (size == 0 || page == Page::kScript) return std::nullopt;
  const bool may_take_files = page == Page::kOther || page == Page::kAlias;
  if (size > kMaxForm && !may_take_files) return Refusal{413, "the login form is too large"};
  const std::string_view type = request.get(parameter::kContentType);
  const bool is_parts = begins_with(type, kMultipart);
  const bool is_form =
      http::same_name(base::trim_blanks(type.substr(0, type.find(';'))), kFormType);
  const bool is_json = page == Page::kJson && !is_form && !is_parts;
  if (!may_take_files && !is_form && !is_json) {
    return Refusal{415, fmt::format("a form with a password must have the type {}", kFormType)};
  }
  if (!is_parts && !is_form && !is_json) return std::nullopt;
  std::string body(size, '\0');
  evbuffer_copyout(request.body.get(), body.data(), body.size());
  if (is_parts) {
    if (fields.add_parts(body)) return std::nullopt;
    return Refusal{400, "the multipart form is malformed"};
  }
  const auto read = is_json ? fields.add_json(body) : fields.add_pairs(body, '&');
  if (!read) return Refusal{400, is_json ? "the body is not valid JSON" : kTooMany};
  if (takes_passwords(page)) request.replace_body(is_json ? kJsonType : kFormType, *read);
  return std::nullopt;
}

/// Returns the parameters of REQUEST. If PAGE accepts passwords, also stores the returned
/// parameters in REQUEST, so that fossil reads the same values.
std::expected<Fields, Refusal> read_fields(PageRequest& request, Page page) {
  Fields fields;
  std::string cookies;
  for (const std::string_view each : all_of(request, parameter::kCookie)) {
    cookies.append(cookies.empty() ? "" : "; ").append(each);
  }
  auto cookies_read = fields.add_pairs(cookies, ';');
  auto query = fields.add_pairs(request.get(parameter::kQueryString), '&');
  if (!cookies_read || !query) return std::unexpected(Refusal{400, kTooMany});
  if (auto refusal = read_body(request, page, fields)) return std::unexpected(std::move(*refusal));
  if (fields.has(kTokenUser) && fields.has(kToken)) {
    return std::unexpected(Refusal{
        403,
        "login with the parameters \"resid\" and \"token\" is not supported: use the login page"});
  }
  if (!cookies.empty()) {
    request.replace(parameter::kCookie, takes_passwords(page) ? *cookies_read : cookies);
  }
  if (takes_passwords(page)) request.replace(parameter::kQueryString, *std::move(query));
  return fields;
}

/// Returns the only value of the fields NAMES (users or repositories), or nullopt if they do not
/// have a value. Refuses several different values.
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
  if (is_login && fields.has_text("p")) return only_one(fields, {"u"});
  const bool has_password = fields.has("p") || fields.has("password");
  if (page == Page::kJson && has_password) return only_one(fields, {"n", "name"});
  return std::nullopt;
}

/// Returns the users whose old password is in FIELDS together with a new password. REMOTE_USER is
/// the user that the web server has authenticated, or "". If FIELDS contain several login cookies,
/// returns the users of all of them, because only fossil can decide which cookie is valid.
std::expected<std::vector<std::string>, Refusal> users_who_change(const Fields& fields,
                                                                  std::string_view remote_user) {
  std::vector<std::string> users;
  const bool is_change =
      fields.has("p") && fields.has(kNewPassword) && fields.has(kNewPasswordAgain);
  if (!is_change) return users;
  const auto cookies = fields.cookies();
  if (cookies.size() > kMaxCookies) return std::unexpected(Refusal{400, "too many cookies"});
  for (const std::string& cookie : cookies) {
    if (auto user = user_of_cookie(cookie)) users.push_back(std::move(*user));
  }
  if (!remote_user.empty()) users.emplace_back(remote_user);
  return users;
}

std::expected<std::optional<Guess>, Refusal> administrator_in(const Fields& fields) {
  if (!fields.has("pw")) return std::nullopt;
  QUARRY_TRY_ASSIGN(const auto file, only_one(fields, {"repo"}));
  QUARRY_TRY_ASSIGN(const auto user, only_one(fields, {"login"}));
  if (!file || !user) return std::nullopt;
  return Guess{Kind::kGroup, *file, *user, kWrongAdministrator};
}

std::optional<std::string> basic_user(const PageRequest& request, bool trust_remote_user) {
  const std::string_view header = base::trim_blanks(request.get(kAuthorization));
  if (!begins_with(header, kBasic)) return std::nullopt;
  std::string words = base64_as_fossil_does(base::trim_blanks(header.substr(kBasic.size())));
  const std::size_t end = words.find(':');
  if (end == std::string::npos) return std::nullopt;
  words.resize(end);
  // If the web server has authenticated this user, the web server has already checked the password,
  // so the password is not a guess.
  if (trust_remote_user && words == request.get(parameter::kRemoteUser)) return std::nullopt;
  return words;
}

/// Returns the text that PAGE's reply contains if the password was wrong.
std::string_view sign_of(Page page) {
  switch (page) {
    case Page::kLogin:
    case Page::kAlias:
      return kWrongForm;
    case Page::kJson:
      return kWrongJson;
    case Page::kGroup:
      return kWrongAdministrator;
    case Page::kOther:
    case Page::kScript:
      break;
  }
  return {};
}

/// Returns the guess for a password that fossil might find in REQUEST although FIELDS do not
/// contain one.
Guess hidden_guess(const PageRequest& request, const Fields& fields, Page page) {
  // If PAGE might be an alias of the login page, inspect the reply only if the request contains a
  // form. Replies that are not inspected can stay compressed.
  const bool is_form = fields.has("p") || evbuffer_get_length(request.body.get()) > 0;
  const bool reads_body = page != Page::kAlias || is_form;
  return {.kind = Kind::kHidden, .sign = reads_body ? sign_of(page) : std::string_view()};
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

bool may_have_password(const PageRequest& request, const Target& target, const PageNames& pages) {
  if (takes_passwords(page_of(target, pages))) return true;
  Fields query;
  return !query.add_pairs(request.get(parameter::kQueryString), '&') || query.has(kToken);
}

std::expected<std::vector<Guess>, Refusal> guesses_in(PageRequest& request, const Target& target,
                                                      const PageNames& pages,
                                                      bool trust_remote_user) {
  if (all_of(request, kAuthorization).size() > 1) {
    return std::unexpected(Refusal{400, "more than one Authorization header"});
  }
  const Page page = page_of(target, pages);
  const std::string repository = target.file.string();
  std::vector<Guess> guesses;
  QUARRY_TRY_ASSIGN(const Fields fields, read_fields(request, page));
  QUARRY_TRY_ASSIGN(const auto user, user_in(fields, page));
  const bool is_captcha = user == kAnonymous;
  if (user && !is_captcha) {
    guesses.push_back(page == Page::kJson ? Guess{Kind::kJson, repository, *user, kFailedJson}
                                          : Guess{Kind::kForm, repository, *user});
  }
  if (page == Page::kLogin || page == Page::kAlias) {
    const auto remote_user = trust_remote_user ? request.get(parameter::kRemoteUser) : "";
    QUARRY_TRY_ASSIGN(const auto changing, users_who_change(fields, remote_user));
    for (const std::string& name : changing) {
      guesses.push_back({Kind::kChange, repository, name, kWrongOldPassword});
    }
  }
  if (page == Page::kGroup) {
    QUARRY_TRY_ASSIGN(const auto administrator, administrator_in(fields));
    if (administrator) guesses.push_back(*administrator);
  }
  if (auto basic = basic_user(request, trust_remote_user)) {
    guesses.push_back({Kind::kBasic, repository, std::move(*basic)});
  }
  const bool may_be_hidden = guesses.empty() && !is_captcha && page != Page::kScript;
  if (may_be_hidden) guesses.push_back(hidden_guess(request, fields, page));
  return guesses;
}

}  // namespace quarry::pages
