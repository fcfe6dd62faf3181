#include "scgi.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

namespace parameter = http::parameter;

// Parameters that web servers set, except headers.
constexpr auto kKnown = std::to_array<std::string_view>(
    {parameter::kRequestMethod, parameter::kRequestUri, parameter::kQueryString,
     parameter::kContentType, parameter::kRemoteAddress, parameter::kRemotePort,
     parameter::kServerName, parameter::kServerPort, parameter::kServerProtocol,
     parameter::kServerSoftware, parameter::kRequestScheme, parameter::kHttps,
     parameter::kGatewayInterface});

bool is_upper_or_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_passed_on(std::string_view name, bool trust_remote_user) {
  if (name == parameter::kRemoteUser || name == "AUTH_TYPE") return trust_remote_user;
  if (std::ranges::find(kKnown, name) != kKnown.end()) return true;
  // Drop the header Proxy, because some programs use HTTP_PROXY as the proxy for outgoing requests.
  return name.starts_with(parameter::kOfHeader) && name != "HTTP_PROXY" &&
         std::ranges::all_of(name, is_upper_or_digit);
}

void append(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += '\0';
  out += value;
  out += '\0';
}

/// Returns the path of REQUEST as fossil expects it. Fossil decodes % and + after the name of the page.
/// Only the URL shows whether a + in the path stands for a blank.
std::string encoded_path(const PageRequest& request) {
  std::string_view url = request.get(parameter::kRequestUri);
  url = url.substr(0, url.find('?'));
  const std::string_view path = request.path();
  const auto decoded = http::percent_decode(url);
  const bool is_of_url = decoded && decoded->ends_with(path);
  std::string reversed;
  for (const char c : path | std::views::reverse) {
    const bool was_encoded = is_of_url && url.size() > 2 && url[url.size() - 3] == '%';
    if (is_of_url) url.remove_suffix(was_encoded ? 3 : 1);
    if (c == '%') {
      reversed += "52%";
    } else if (c == '+' && was_encoded) {
      reversed += "B2%";
    } else {
      reversed += c;
    }
  }
  return {reversed.rbegin(), reversed.rend()};
}

}  // namespace

std::string scgi_head(const PageRequest& request, bool trust_remote_user) {
  std::string pairs;
  append(pairs, parameter::kContentLength, std::to_string(evbuffer_get_length(request.body.get())));
  append(pairs, "SCGI", "1");
  const bool is_split = !request.get(parameter::kPathInfo).empty();
  append(pairs, parameter::kScriptName, is_split ? request.get(parameter::kScriptName) : "");
  append(pairs, parameter::kPathInfo, encoded_path(request));
  // Pass on only the last value of each parameter, which is also the value that get() returns.
  // Fossil would use the first value.
  std::set<std::string_view> names;
  for (const Parameter& each : request.parameters | std::views::reverse) {
    const bool is_new = names.insert(each.name).second;
    if (is_new && is_passed_on(each.name, trust_remote_user)) append(pairs, each.name, each.value);
  }
  return std::to_string(pairs.size()) + ":" + pairs + ",";
}

std::string header_block(const http::ReplyHeader& header) {
  std::string block = fmt::format("Status: {} {}\r\n", header.status, header.reason);
  for (const auto& [name, value] : header.fields) {
    if (!http::same_name(name, "Date")) block += fmt::format("{}: {}\r\n", name, value);
  }
  if (header.content_length) block += fmt::format("Content-Length: {}\r\n", *header.content_length);
  return block + "\r\n";
}

}  // namespace quarry::pages
