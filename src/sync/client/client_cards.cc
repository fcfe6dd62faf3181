#include "client_cards.h"

#include <fmt/core.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/hex.h"

namespace quarry::sync {
namespace {

bool is_secret(std::string_view password) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return password.size() == 40 && std::ranges::all_of(password, is_hex);
}

}  // namespace

void write_card(CardWriter& writer, std::initializer_list<std::string_view> words) {
  std::string& text = writer.payload();
  const char* between = "";
  for (const std::string_view word : words) {
    text += between;
    text += word;
    between = " ";
  }
  text += '\n';
}

void write_client_version(CardWriter& writer) {
  write_card(writer, {"pragma", "client-version", "22100", "20230226", "192424"});
}

std::string login_card(std::string_view user, std::string_view password,
                       std::string_view project_code, std::string_view cards) {
  const std::string nonce = artifact::sha1_hex(cards);
  const std::string secret =
      is_secret(password)
          ? std::string(password)
          : artifact::sha1_hex(fmt::format("{}/{}/{}", project_code, user, password));
  return fmt::format("login {} {} {}\n", artifact::fossilize(user), nonce,
                     artifact::sha1_hex(nonce + secret));
}

void write_salt(CardWriter& writer) {
  std::array<unsigned char, 20> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error("no random numbers to be had");
  }
  std::string& text = writer.payload();
  text += "# ";
  text += base::to_hex(bytes);
  text += '\n';
}

}  // namespace quarry::sync
