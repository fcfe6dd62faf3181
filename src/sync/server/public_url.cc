#include "public_url.h"

#include <algorithm>
#include <array>
#include <optional>

#include "quarry/base/ascii.h"
#include "quarry/http/syntax.h"

namespace quarry::sync {
namespace {

constexpr std::size_t kMaxUrl = 2000;
constexpr std::string_view kLocal = "localhost";

struct Scheme {
  std::string_view start;
  std::string_view default_port;
};
constexpr std::array kSchemes = {Scheme{"http://", "80"}, Scheme{"https://", "443"},
                                 Scheme{"ssh://", "22"}};

bool is_of_name(char c) {
  return http::is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
}

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    const std::string_view address = host.substr(1, host.size() - 2);
    return !address.empty() &&
           std::ranges::all_of(address, [](char c) { return is_of_name(c) || c == ':'; });
  }
  return !host.empty() && std::ranges::all_of(host, is_of_name) &&
         std::ranges::search(host, kLocal, {}, base::ascii_lower).empty();
}

/// Returns AUTHORITY without the part up to its last @, and without DEFAULT_PORT.
std::optional<std::string_view> public_authority(std::string_view authority,
                                                 std::string_view default_port) {
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    authority.remove_prefix(at + 1);
  }
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && !authority.ends_with(']');
  const std::string_view host = authority.substr(0, has_port ? colon : authority.size());
  const std::string_view port = has_port ? authority.substr(colon + 1) : std::string_view();
  if (!is_host(host) || port.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return port.empty() || port == default_port ? host : authority;
}

}  // namespace

std::string public_url(std::string_view url, PublicSchemes schemes) {
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7F; };
  if (url.size() > kMaxUrl || !std::ranges::all_of(url, is_plain)) return {};
  const auto scheme = std::ranges::find_if(
      kSchemes, [url](const Scheme& known) { return url.starts_with(known.start); });
  if (scheme == kSchemes.end()) return {};
  if (scheme->start == "ssh://" && schemes == PublicSchemes::kHttp) return {};
  std::string_view rest = url.substr(scheme->start.size());
  rest = rest.substr(0, rest.find_first_of("?#"));
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view path = rest.substr(slash);
  // If the path contains an @, a password with a slash might extend into the path, so do not return
  // the URL.
  if (path.contains('@')) return {};
  const auto place = public_authority(rest.substr(0, slash), scheme->default_port);
  if (!place) return {};
  return std::string(scheme->start).append(*place).append(path);
}

}  // namespace quarry::sync
