// Messages about events for chat services: Slack, Discord, Mattermost and Microsoft Teams. A message
// is the JSON body of a request to an incoming webhook of the service.
//
// Names and comments are text from clients. In a message they cannot mention anybody or hide the
// address of a link. Apart from bold text and the like in Slack, they do not contain markup.
#pragma once

#include <string>
#include <string_view>

#include "quarry/courier/options.h"
#include "quarry/event/event.h"

namespace quarry::courier {

/// Escapes the characters of TEXT that FORMAT treats as markup, and replaces control characters
/// with spaces. For Format::kJson, returns TEXT.
std::string escape_for_chat(Format format, std::string_view text);

/// Returns the message about EVENT in FORMAT, which is not Format::kJson. A long message is
/// shortened to the length that the service accepts.
std::string chat_message(Format format, const event::Event& event);

}  // namespace quarry::courier
