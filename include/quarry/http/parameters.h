// Names of request parameters for FastCGI and CGI programs (RFC 3875, section 4.1, and common
// extensions of web servers). The gateway writes these parameters; workers and `quarry http` read
// them.
#pragma once

#include <string_view>

namespace quarry::http::parameter {

inline constexpr char kGatewayInterface[] = "GATEWAY_INTERFACE";
inline constexpr char kServerSoftware[] = "SERVER_SOFTWARE";
inline constexpr char kServerProtocol[] = "SERVER_PROTOCOL";
inline constexpr char kServerName[] = "SERVER_NAME";
inline constexpr char kServerPort[] = "SERVER_PORT";
inline constexpr char kRequestMethod[] = "REQUEST_METHOD";
inline constexpr char kRequestUri[] = "REQUEST_URI";        // as the client sent it
inline constexpr char kRequestScheme[] = "REQUEST_SCHEME";  // "http" or "https"
inline constexpr char kScriptName[] = "SCRIPT_NAME";
inline constexpr char kPathInfo[] = "PATH_INFO";  // decoded
inline constexpr char kQueryString[] = "QUERY_STRING";
inline constexpr char kContentLength[] = "CONTENT_LENGTH";
inline constexpr char kContentType[] = "CONTENT_TYPE";
inline constexpr char kRemoteAddress[] = "REMOTE_ADDR";
inline constexpr char kRemotePort[] = "REMOTE_PORT";
inline constexpr char kRemoteUser[] = "REMOTE_USER";
inline constexpr char kHttps[] = "HTTPS";  // see is_https()
inline constexpr char kHost[] = "HTTP_HOST";
inline constexpr char kCookie[] = "HTTP_COOKIE";
inline constexpr char kRequestId[] = "HTTP_X_REQUEST_ID";  // see request_id.h
/// The prefix of the parameters for all other headers. The header's name follows in capitals, with
/// _ instead of -.
inline constexpr char kOfHeader[] = "HTTP_";

/// Returns whether VALUE, the value of kHttps, means that the client used TLS.
inline bool is_https(std::string_view value) {
  return value == "on";
}

}  // namespace quarry::http::parameter
