// Functions that encode FastCGI records.
#pragma once

#include <string>
#include <string_view>

#include "quarry/http/fastcgi.h"

namespace fastcgi_records {

inline std::string record(std::uint8_t type, std::string_view content, std::uint8_t padding = 0,
                          std::uint16_t id = 1) {
  std::string bytes;
  quarry::http::append_record(bytes, type, id, content, padding);
  return bytes;
}

inline std::string begin_record(std::uint8_t flags = 0, std::uint16_t id = 1) {
  return record(FCGI_BEGIN_REQUEST, quarry::http::begin_content(flags), 0, id);
}

inline std::string end_record(std::uint8_t status = FCGI_REQUEST_COMPLETE) {
  return record(FCGI_END_REQUEST, quarry::http::end_content(status));
}

/// Returns records of TYPE with CONTENT, followed by the empty record that ends the stream.
inline std::string stream(std::uint8_t type, std::string_view content) {
  std::string bytes;
  quarry::http::append_stream(bytes, type, 1, content);
  return bytes + record(type, "");
}

}  // namespace fastcgi_records
