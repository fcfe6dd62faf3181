#include "login_card.h"

#include <fmt/core.h>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/blanks.h"
#include "quarry/base/split.h"
#include "quarry/http/form.h"

namespace quarry::sync {

LoginCard LoginCard::of(const CardReader& reader) {
  return {.user = artifact::defossilize(reader[1]),
          .nonce = std::string(reader[2]),
          .signature = std::string(reader[3])};
}

std::optional<LoginCard> LoginCard::in_cookie(std::string_view cookie) {
  constexpr std::string_view kName = "x-f-l-c=";
  while (!cookie.empty()) {
    const std::string_view pair = base::trim_blanks(base::take_until(cookie, ';'));
    if (!pair.starts_with(kName)) continue;
    // Ignore a cookie that is not a login card, so that a login card in the body is used.
    const std::string text = http::form_decode_leniently(pair.substr(kName.size()));
    CardReader reader(text);
    const auto is_card = reader.next();
    if (!is_card || !*is_card || reader.type() != CardType::kLogin) return std::nullopt;
    return of(reader);
  }
  return std::nullopt;
}

std::string login_card(std::string_view user, std::string_view secret, std::string_view nonce) {
  return fmt::format("login {} {} {}", artifact::fossilize(user), nonce,
                     artifact::sha1_hex(fmt::format("{}{}", nonce, secret)));
}

std::string stored_secret(std::string_view project_code, std::string_view user,
                          std::string_view password) {
  return artifact::sha1_hex(fmt::format("{}/{}/{}", project_code, user, password));
}

}  // namespace quarry::sync
