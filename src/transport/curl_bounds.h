// libcurl options for every exchange.
#pragma once

#include <curl/curl.h>

#include <chrono>

namespace quarry::transport {

/// Sets the user agent, keeps the path of the URL as written, and limits silence of the server.
inline void set_bounds(CURL* curl, std::chrono::seconds connect_timeout,
                       std::chrono::seconds idle_timeout) {
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "Quarry/" QUARRY_VERSION);
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(connect_timeout.count()));
  // Less than one byte per second counts as silence.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(idle_timeout.count()));
}

}  // namespace quarry::transport
