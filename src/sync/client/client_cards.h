// Appends the cards that only a client sends to a CardWriter. Used by ClientSession.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "cards/card_writer.h"

namespace quarry::sync {

/// A card of WORDS, which are written unchanged.
void write_card(CardWriter& writer, std::initializer_list<std::string_view> words);
/// `pragma client-version …`: the protocol version of this client.
void write_client_version(CardWriter& writer);
/// A login card of USER for the following CARDS. PASSWORD is clear text, or the 40 hex digits that
/// the server stores.
std::string login_card(std::string_view user, std::string_view password,
                       std::string_view project_code, std::string_view cards);
/// A comment unique to this request, which makes the nonce of a login unique.
void write_salt(CardWriter& writer);

}  // namespace quarry::sync
