// The card with which a user logs in. NONCE and SIGNATURE are explained in sync_user.h.
//
//   login USER NONCE SIGNATURE     in a body: the first card
//   Cookie: x-f-l-c=…              the same, form-encoded (clients from version 2.27 on)
//
// Used by SyncUser and ClientSession.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "card_reader.h"

namespace quarry::sync {

struct LoginCard {
  std::string user;
  std::string nonce;
  std::string signature;

  /// Returns the current card of READER, which must be a login.
  static LoginCard of(const CardReader& reader);
  /// Returns the login in COOKIE, the value of a Cookie header, or nullopt if there is none.
  static std::optional<LoginCard> in_cookie(std::string_view cookie);
};

/// Returns a login card without its newline. SECRET is the value of user.pw.
std::string login_card(std::string_view user, std::string_view secret, std::string_view nonce);
/// Returns the form in which PASSWORD is normally stored in user.pw.
std::string stored_secret(std::string_view project_code, std::string_view user,
                          std::string_view password);

}  // namespace quarry::sync
