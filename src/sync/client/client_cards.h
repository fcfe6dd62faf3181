// The cards that only a client writes, appended to what a CardWriter holds. Used by ClientSession.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "cards/card_writer.h"

namespace quarry::sync {

/// A card of WORDS, which are written as they are.
void write_card(CardWriter& writer, std::initializer_list<std::string_view> words);
/// `pragma client-version …`: what this client understands.
void write_client_version(CardWriter& writer);
/// The card that logs USER in for CARDS, which follow it. PASSWORD is clear, or the 40 hex digits
/// that the server keeps of it.
std::string login_card(std::string_view user, std::string_view password,
                       std::string_view project_code, std::string_view cards);
/// A comment that no other request has: it makes the nonce of a login one of its own.
void write_salt(CardWriter& writer);

}  // namespace quarry::sync
