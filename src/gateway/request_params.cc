#include "request_params.h"

#include <event2/buffer.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "quarry/base/blanks.h"
#include "quarry/http/fastcgi.h"
#include "quarry/http/parameters.h"
#include "quarry/http/request_id.h"
#include "quarry/http/syntax.h"

namespace quarry::gateway {
namespace {

using base::SocketAddress;
namespace parameter = http::parameter;

/// Returns the values of all headers called NAME, in order, joined by SEPARATOR.
std::string joined(const evkeyvalq& headers, std::string_view name, std::string_view separator) {
  std::string result;
  for (const evkeyval* field = headers.tqh_first; field != nullptr; field = field->next.tqe_next) {
    if (!http::same_name(field->key, name)) continue;
    if (!result.empty()) result += separator;
    result += field->value;
  }
  return result;
}

/// Parses an entry of X-Forwarded-For: an address, possibly with a port.
std::optional<SocketAddress> forwarded_address(std::string_view entry) {
  entry = base::trim_blanks(entry);
  if (auto address = SocketAddress::parse_ip(entry)) return *std::move(address);
  if (entry.find('/') != std::string_view::npos || entry.find(':') == std::string_view::npos) {
    return std::nullopt;
  }
  if (auto address = SocketAddress::parse(entry)) return *std::move(address);
  return std::nullopt;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/// Returns whether the HTTP_ variable for the header NAME is unambiguous and safe.
bool is_forwarded(std::string_view name, bool through_proxy) {
  if (!std::ranges::all_of(name, is_plain)) return false;
  // Drop the header Proxy, because some programs use HTTP_PROXY as the proxy for their own
  // requests.
  if (http::same_name(name, "Proxy")) return false;
  if (!through_proxy && name.size() > 12 && http::same_name(name.substr(0, 12), "X-Forwarded-"))
    return false;
  // Drop this header, because the gateway sets its variable to a valid id.
  if (http::same_name(name, http::kRequestIdHeader)) return false;
  // Drop these two headers, because their values are in the variables CONTENT_LENGTH and
  // CONTENT_TYPE.
  return !http::same_name(name, "Content-Length") && !http::same_name(name, "Content-Type");
}

std::string variable_of(std::string_view name) {
  std::string variable = parameter::kOfHeader;
  for (const char c : name) {
    variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '-' ? '_' : c;
  }
  return variable;
}

bool is_repeated(const evkeyvalq& headers, const evkeyval* field) {
  for (const evkeyval* other = headers.tqh_first; other != field; other = other->next.tqe_next) {
    if (http::same_name(other->key, field->key)) return true;
  }
  return false;
}

void add_headers(const evkeyvalq& headers, bool through_proxy, std::string& params) {
  for (const evkeyval* field = headers.tqh_first; field != nullptr; field = field->next.tqe_next) {
    const std::string_view name = field->key;
    if (!is_forwarded(name, through_proxy) || is_repeated(headers, field)) continue;
    const bool is_cookie = http::same_name(name, "Cookie");
    http::append_pair(params, variable_of(name), joined(headers, name, is_cookie ? "; " : ", "));
  }
}

std::string_view header_or_empty(const evkeyvalq& headers, const char* name) {
  const char* value = evhttp_find_header(&headers, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// Returns the Host header without its port. The brackets of an IPv6 address are kept.
std::string_view host_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos) return host;
  if (bracket != std::string_view::npos && bracket > colon) return host;
  return host.substr(0, colon);
}

/// Returns the path and query of TARGET, which can be in absolute form (http://host/path).
std::string_view origin_form(std::string_view target) {
  if (target.starts_with('/')) return target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!http::same_name(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    if (path == std::string_view::npos) return "/";
    if (target[path] == '/') return target.substr(path);
  }
  return {};
}

}  // namespace

std::string_view method_name(const evhttp_request& request) {
  const evhttp_cmd_type method = evhttp_request_get_command(&request);
  return method == EVHTTP_REQ_POST ? "POST" : method == EVHTTP_REQ_HEAD ? "HEAD" : "GET";
}

Client client_of(const SocketAddress& peer, const evkeyvalq& headers,
                 const base::AddressSet& trusted) {
  Client direct{.address = peer.ip(), .port = peer.port(), .through_proxy = trusted.contains(peer)};
  if (!direct.through_proxy) return direct;
  const std::string list = joined(headers, "X-Forwarded-For", ",");
  std::string_view left = list;
  std::optional<SocketAddress> found;
  while (!left.empty()) {
    const std::size_t comma = left.rfind(',');
    auto address =
        forwarded_address(comma == std::string_view::npos ? left : left.substr(comma + 1));
    if (!address) break;
    found = *std::move(address);
    if (comma == std::string_view::npos || !trusted.contains(*found)) break;
    left = left.substr(0, comma);
  }
  if (!found) return direct;
  return {.address = found->ip(), .port = 0, .through_proxy = true, .is_named = true};
}

bool is_https(const evkeyvalq& headers, const Client& client, bool is_tls) {
  const std::string_view forwarded =
      client.through_proxy ? header_or_empty(headers, "X-Forwarded-Proto") : std::string_view();
  return forwarded.empty() ? is_tls : http::same_name(forwarded, "https");
}

Result<std::string> https_url(evhttp_request& request, std::uint16_t port) {
  constexpr std::uint16_t kUsualPort = 443;
  const std::string_view target = origin_form(evhttp_request_get_uri(&request));
  const std::string_view host =
      host_name(header_or_empty(*evhttp_request_get_input_headers(&request), "Host"));
  if (host.empty() || target.empty()) {
    return fail(ErrorCode::kInvalid, "this port requires HTTPS: use a URL with https://");
  }
  return fmt::format("https://{}{}{}", host,
                     port == kUsualPort ? std::string() : fmt::format(":{}", port),
                     target.substr(0, target.find('#')));
}

std::string request_id(const evkeyvalq& headers, const Client& client) {
  return http::request_id_from(
      client.through_proxy ? header_or_empty(headers, http::kRequestIdHeader) : std::string_view());
}

Result<std::string> params_of(evhttp_request& request, const Client& client, std::string_view id,
                              const Entrance& entrance) {
  const std::string_view target = origin_form(evhttp_request_get_uri(&request));
  const std::string_view raw = target.substr(0, target.find('#'));
  const std::size_t question = raw.find('?');
  const auto path = http::percent_decode(raw.substr(0, question));
  if (raw.empty() || !path) {
    return fail(ErrorCode::kInvalid, "the path is malformed");
  }
  const evkeyvalq& headers = *evhttp_request_get_input_headers(&request);
  const std::string_view host = header_or_empty(headers, "Host");

  std::string params;
  params.reserve(1024);
  const auto add = [&params](std::string_view name, std::string_view value) {
    http::append_pair(params, name, value);
  };
  add(parameter::kGatewayInterface, "CGI/1.1");
  add(parameter::kServerSoftware, "quarry/" QUARRY_VERSION);
  add(parameter::kServerProtocol, request.minor == 0 ? "HTTP/1.0" : "HTTP/1.1");
  add(parameter::kServerName, host.empty() ? std::string_view("localhost") : host_name(host));
  add(parameter::kServerPort, std::to_string(entrance.port));
  add(parameter::kRequestMethod, method_name(request));
  add(parameter::kRequestUri, raw);
  add(parameter::kScriptName, "");
  add(parameter::kPathInfo, *path);
  add(parameter::kQueryString, question == std::string_view::npos ? "" : raw.substr(question + 1));
  add(parameter::kRemoteAddress, client.address);
  if (client.port != 0) add(parameter::kRemotePort, std::to_string(client.port));
  const bool https = is_https(headers, client, entrance.is_tls);
  add(parameter::kRequestScheme, https ? "https" : "http");
  if (https) add(parameter::kHttps, "on");
  const std::size_t size = evbuffer_get_length(evhttp_request_get_input_buffer(&request));
  if (size > 0 || evhttp_request_get_command(&request) == EVHTTP_REQ_POST) {
    add(parameter::kContentLength, std::to_string(size));
  }
  if (const std::string_view type = header_or_empty(headers, "Content-Type"); !type.empty()) {
    add(parameter::kContentType, type);
  }
  add(parameter::kRequestId, id);
  add_headers(headers, client.through_proxy, params);
  return params;
}

}  // namespace quarry::gateway
