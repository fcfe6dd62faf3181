#include "request_params.h"

#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <fmt/core.h>

#include <optional>
#include <vector>

#include "quarry/base/blanks.h"
#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"

namespace quarry::gateway {
namespace {

using base::SocketAddress;
namespace parameter = http::parameter;

/// The values of all headers with that name, in order, joined to one list.
std::string joined(const evkeyvalq& headers, std::string_view name, std::string_view separator) {
  std::string result;
  for (const evkeyval* field = headers.tqh_first; field != nullptr; field = field->next.tqe_next) {
    if (!http::same_name(field->key, name)) continue;
    if (!result.empty()) result += separator;
    result += field->value;
  }
  return result;
}

/// Parses an entry of X-Forwarded-For: an address, to which some proxies add a port.
std::optional<SocketAddress> forwarded_address(std::string_view entry) {
  entry = base::trim_blanks(entry);
  if (auto address = SocketAddress::parse_ip(entry)) return *std::move(address);
  if (entry.find('/') != std::string_view::npos || entry.find(':') == std::string_view::npos) {
    return std::nullopt;
  }
  if (auto address = SocketAddress::parse(entry)) return *std::move(address);
  return std::nullopt;
}

/// Whether the header's HTTP_ variable is unambiguous and safe.
bool may_pass(std::string_view name, bool through_proxy) {
  for (const char c : name) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-')) {
      return false;
    }
  }
  // Some programs use HTTP_PROXY as the proxy for their own requests.
  if (http::same_name(name, "Proxy")) return false;
  if (!through_proxy && name.size() > 12 && http::same_name(name.substr(0, 12), "X-Forwarded-"))
    return false;
  // These have variables of their own.
  return !http::same_name(name, "Content-Length") && !http::same_name(name, "Content-Type");
}

std::string variable_of(std::string_view name) {
  std::string result = parameter::kOfHeader;
  result.reserve(result.size() + name.size());
  for (const char c : name) {
    if (c == '-') {
      result.push_back('_');
    } else {
      result.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    }
  }
  return result;
}

bool appears_before(const evkeyvalq& headers, const evkeyval* field) {
  for (const evkeyval* other = headers.tqh_first; other != field; other = other->next.tqe_next) {
    if (http::same_name(other->key, field->key)) return true;
  }
  return false;
}

bool appears_after(const evkeyval* field) {
  for (const evkeyval* other = field->next.tqe_next; other != nullptr;
       other = other->next.tqe_next) {
    if (http::same_name(other->key, field->key)) return true;
  }
  return false;
}

void add_headers(const evkeyvalq& headers, bool through_proxy, Params& params) {
  for (const evkeyval* field = headers.tqh_first; field != nullptr; field = field->next.tqe_next) {
    const std::string_view name = field->key;
    if (!may_pass(name, through_proxy) || appears_before(headers, field)) continue;
    if (appears_after(field)) {
      const bool cookie = http::same_name(name, "Cookie");
      params.add(variable_of(name), joined(headers, name, cookie ? "; " : ", "));
    } else {
      params.add(variable_of(name), field->value);
    }
  }
}

std::string_view header_or_empty(const evkeyvalq& headers, const char* name) {
  const char* value = evhttp_find_header(&headers, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// The Host header without its port; brackets of an IPv6 address stay.
std::string_view host_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos) return host;
  if (bracket != std::string_view::npos && bracket > colon) return host;
  return host.substr(0, colon);
}

std::string_view method_name(const evhttp_request& request) {
  switch (evhttp_request_get_command(&request)) {
    case EVHTTP_REQ_HEAD:
      return "HEAD";
    case EVHTTP_REQ_POST:
      return "POST";
    default:
      return "GET";
  }
}

/// The path and query of a target, which may be in absolute form (http://host/path).
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

Client client_of(const SocketAddress& peer, const evkeyvalq& headers, const AddressSet& trusted) {
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

base::Result<Params> params_of(evhttp_request& request, const RequestFacts& facts) {
  const std::string_view target = origin_form(evhttp_request_get_uri(&request));
  const std::string_view raw = target.substr(0, target.find('#'));
  const std::size_t question = raw.find('?');
  const auto path = http::percent_decode(raw.substr(0, question));
  if (raw.empty() || !path) {
    return base::fail(base::ErrorCode::kInvalid, "the path is malformed");
  }
  const evkeyvalq& headers = *evhttp_request_get_input_headers(&request);
  const std::string_view host = header_or_empty(headers, "Host");

  Params params;
  params.reserve(1024);
  params.add(parameter::kGatewayInterface, "CGI/1.1");
  params.add(parameter::kServerSoftware, "quarry/" QUARRY_VERSION);
  params.add(parameter::kServerProtocol, request.minor == 0 ? "HTTP/1.0" : "HTTP/1.1");
  params.add(parameter::kServerName,
             host.empty() ? std::string_view("localhost") : host_name(host));
  params.add(parameter::kServerPort, std::to_string(facts.server_port));
  params.add(parameter::kRequestMethod, method_name(request));
  params.add(parameter::kRequestUri, raw);
  params.add(parameter::kScriptName, "");
  params.add(parameter::kPathInfo, *path);
  params.add(parameter::kQueryString,
             question == std::string_view::npos ? "" : raw.substr(question + 1));
  params.add(parameter::kRemoteAddress, facts.client.address);
  if (facts.client.port != 0) params.add(parameter::kRemotePort, std::to_string(facts.client.port));
  const bool https = facts.client.through_proxy &&
                     http::same_name(header_or_empty(headers, "X-Forwarded-Proto"), "https");
  params.add(parameter::kRequestScheme, https ? "https" : "http");
  if (https) params.add(parameter::kHttps, "on");
  if (facts.body_size > 0 || evhttp_request_get_command(&request) == EVHTTP_REQ_POST) {
    params.add(parameter::kContentLength, std::to_string(facts.body_size));
  }
  if (const std::string_view type = header_or_empty(headers, "Content-Type"); !type.empty()) {
    params.add(parameter::kContentType, type);
  }
  add_headers(headers, facts.client.through_proxy, params);
  return params;
}

}  // namespace quarry::gateway
