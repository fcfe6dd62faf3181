#include "spool_text.h"

#include <openssl/evp.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "quarry/base/escape.h"

namespace quarry::app {
namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x80;
    const std::size_t length = is_ascii ? 1 : base::utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(bytes.data()),
                                       static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

void add_bytes(nlohmann::json& line, std::string_view bytes) {
  if (is_utf8(bytes)) {
    line["content"] = bytes;
  } else {
    line["base64"] = base64(bytes);
  }
}

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

}  // namespace quarry::app
