#include "login_form.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

constexpr std::size_t kMostOfForm = 4096;
constexpr std::size_t kLongestName = 64;

/// The user's name in FORM, as a browser writes it; nothing: there is none.
std::optional<std::string> user_in(std::string_view form) {
  while (!form.empty()) {
    const std::string_view pair = form.substr(0, form.find('&'));
    if (pair.starts_with("u=")) {
      std::string value(pair.substr(2));
      std::ranges::replace(value, '+', ' ');
      return http::percent_decode(value).value_or("");
    }
    form.remove_prefix(std::min(pair.size() + 1, form.size()));
  }
  return std::nullopt;
}

std::string user_of(const PageRequest& request) {
  std::array<char, kMostOfForm> form{};
  const auto size = evbuffer_copyout(request.body.get(), form.data(), form.size());
  if (auto user = user_in({form.data(), static_cast<std::size_t>(std::max<ev_ssize_t>(size, 0))})) {
    return *std::move(user);
  }
  return user_in(request.get(parameter::kQueryString)).value_or("");
}

}  // namespace

std::string refused_login_in_words(const PageRequest& request, const Target& target) {
  if (target.page != "login") return {};
  // As in the log of workers: the address comes before what the visitor has written.
  std::string name;
  base::append_printable(name, user_of(request), kLongestName, "\"");
  const std::string_view uri = request.get(parameter::kRequestUri);
  return fmt::format(
      "client {}: login failed for \"{}\": {} \"{}\"",
      base::printable(request.get(parameter::kRemoteAddress), 60), name,
      base::printable(request.get(parameter::kRequestMethod), 20),
      base::printable(base::without_secrets(uri.empty() ? request.path() : uri), 200));
}

}  // namespace quarry::pages
