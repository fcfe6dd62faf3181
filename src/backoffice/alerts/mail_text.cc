#include "mail_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "quarry/courier/mail_message.h"

namespace quarry::backoffice {

using courier::MailMessage;
using repository::AlertEvent;
using repository::MailKind;
using repository::OutgoingMail;

namespace {

// Maximum size of a body in bytes. For events that do not fit, the email contains their number and
// a link to the timeline.
constexpr std::size_t kMaxBody = std::size_t{2} << 20;
// Numbers of hash digits in links and in Message-Ids, as in fossil.
constexpr std::size_t kLinkDigits = 20;
constexpr std::size_t kMessageIdDigits = 32;

std::string host_of(std::string_view address) {
  const std::size_t at = address.find('@');
  return std::string(at == std::string_view::npos ? address : address.substr(at + 1));
}

/// Returns the local part of the From address for the user NAME, by fossil's rule. The local part
/// is constant for each user, so that mail programs recognize the author.
std::string mailbox_of(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) hash = hash * 1103515245U + 12345U + static_cast<unsigned char>(c);
  return fmt::format("noreply{:x}{:08x}", name.size(), hash);
}

std::string moderation_note(const AlertEvent& event, const MailSettings& settings) {
  if (!event.reference.needs_moderator) return {};
  return fmt::format("** Pending moderator approval ({}/modreq) **\n", settings.url);
}

std::string_view headline(char type, std::string_view& comment) {
  switch (type) {
    case 'c':
      return "Check-In";
    case 't':
      return "Ticket Change";
    case 'w':
      break;
    default:
      return "";
  }
  // The comment consists of a sign for the kind of change and the title of the page.
  const char sign = comment.empty() ? '\0' : comment.front();
  if (sign == ':' || sign == '+' || sign == '-') comment.remove_prefix(1);
  return sign == '+' ? "Wiki Added" : sign == '-' ? "Wiki Removed" : "Wiki Edit";
}

/// Returns the entry for EVENT in an email about several events.
std::string entry(const AlertEvent& event, const MailSettings& settings) {
  std::string_view comment = event.comment;
  const std::string_view kind = headline(event.reference.type, comment);
  return fmt::format("== {} {} ==\n{} (user: {}{}{})\n{}/info/{}\n{}", event.time, kind, comment,
                     event.user.empty() ? "?" : event.user,
                     event.tags.empty() ? "" : " tags: ", event.tags, settings.url,
                     event.name.substr(0, kLinkDigits), moderation_note(event, settings));
}

std::string events_body(const OutgoingMail& mail, const std::vector<AlertEvent>& events,
                        const MailSettings& settings) {
  std::string body = fmt::format(
      "This is an automated email about changes in the Fossil repository at {}.\n", settings.url);
  std::size_t listed = 0;
  for (; listed < events.size() && body.size() < kMaxBody; ++listed) {
    body += '\n';
    body += entry(events[listed], settings);
  }
  if (listed < events.size()) {
    body += fmt::format("\nAnd {} more; see {}/timeline\n", events.size() - listed, settings.url);
  }
  return body + fmt::format("\n-- \nSubscription info: {}/alerts/{}\n", settings.url, mail.code);
}

std::string post_body(const OutgoingMail& mail, const AlertEvent& event,
                      const repository::AlertPost& post, const MailSettings& settings) {
  std::string body = moderation_note(event, settings);
  body += fmt::format("Forum post by {} on {}\n{}/forumpost/{}\n\n", post.author, event.time,
                      settings.url, event.name.substr(0, settings.hash_digits));
  body += post.is_too_long ? "(The post is too long for an email; follow the link to read it.)\n"
                           : post.text;
  return body + fmt::format("\n-- \nUnsubscribe: {}/unsubscribe/{}\n", settings.url, mail.code);
}

struct AlertChoice {
  char letter;
  std::string_view name;
};

constexpr std::array<AlertChoice, 5> kAlertChoices{{{'a', "Announcements"},
                                                    {'c', "Check-ins"},
                                                    {'f', "Forum posts"},
                                                    {'t', "Ticket changes"},
                                                    {'w', "Wiki changes"}}};

std::string renewal_body(const OutgoingMail& mail, const MailSettings& settings) {
  std::string body = fmt::format(
      "\nYour subscription expires soon. To renew it, follow this link:\n\n  {}/renew/{}\n\nYou "
      "receive email from {} ({}) about:\n\n",
      settings.url, mail.code, settings.subject, settings.url);
  for (const AlertChoice& choice : kAlertChoices) {
    if (mail.letters.find(choice.letter) != std::string::npos) {
      body += fmt::format("  *  {}\n", choice.name);
    }
  }
  return body +
         fmt::format(
             "\nIf you do nothing, your subscription ends in about 7 days. To change it, or to"
             "\nunsubscribe now, visit this page:\n\n  {}/alerts/{}\n\n",
             settings.url, mail.code);
}

void set_unsubscribe(MailMessage& message, const OutgoingMail& mail, const MailSettings& settings) {
  message.set_token_header("List-Unsubscribe",
                           fmt::format("<{}/unsubscribe/{}>", settings.url, mail.code));
  message.set_token_header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
}

void set_sender(MailMessage& message, std::string_view name, const MailSettings& settings) {
  if (name.empty()) return message.set_from("", settings.from);
  message.set_from(std::string(name), mailbox_of(name) + "@" + host_of(settings.from));
  message.set_token_header("Sender", fmt::format("<{}>", settings.from));
}

void write_post(MailMessage& message, const OutgoingMail& mail, const AlertEvent& event,
                const repository::AlertPost& post, const MailSettings& settings) {
  const std::string host = host_of(settings.from);
  set_sender(message, post.sender, settings);
  set_unsubscribe(message, mail, settings);
  message.set_body(post_body(mail, event, post, settings));
  if (event.reference.needs_moderator) {
    // Do not use the post's own Message-Id yet, because the post might be sent again after its
    // approval.
    message.set_subject(fmt::format("{} Pending Moderation: {}", settings.subject, post.title));
    message.set_message_id(mail.token + "@" + host);
    return;
  }
  message.set_subject(fmt::format("{} {}", settings.subject, post.title));
  message.set_message_id(event.name.substr(0, kMessageIdDigits) + "@" + host);
  if (!post.reply_to.empty()) {
    message.set_token_header(
        "In-Reply-To", fmt::format("<{}@{}>", post.reply_to.substr(0, kMessageIdDigits), host));
  }
}

void write_others(MailMessage& message, const OutgoingMail& mail,
                  const std::vector<AlertEvent>& events, const MailSettings& settings) {
  set_sender(message, "", settings);
  message.set_message_id(mail.token + "@" + host_of(settings.from));
  if (mail.kind == MailKind::kRenewal) {
    message.set_subject(
        fmt::format("{} Subscription to {} expires soon", settings.subject, settings.url));
    message.set_body(renewal_body(mail, settings));
    return;
  }
  message.set_subject(settings.subject + " activity alert");
  set_unsubscribe(message, mail, settings);
  message.set_body(events_body(mail, events, settings));
}

}  // namespace

bool is_mail_address(std::string_view text) {
  if (text.empty() || text.size() > 254 || text.front() == '-') return false;
  const std::size_t at = text.find('@');
  if (at == 0 || at == std::string_view::npos || at + 1 == text.size()) return false;
  if (text.find('@', at + 1) != std::string_view::npos) return false;
  return std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7F' &&
           std::string_view("<>()[]\\,;:\"").find(c) == std::string_view::npos;
  });
}

std::optional<RenderedMail> compose(const OutgoingMail& mail, const std::vector<AlertEvent>& events,
                                    const MailSettings& settings, base::UnixMillis now) {
  if (events.empty() && mail.kind != MailKind::kRenewal) return std::nullopt;
  MailMessage message;
  message.add_recipient(mail.address);
  if (!settings.list.empty()) {
    const bool is_plain = std::ranges::all_of(
        settings.list, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (is_plain) {
      message.set_token_header("List-Id", settings.list);
    } else {
      message.set_header("List-Id", settings.list);
    }
  }
  if (mail.kind == MailKind::kPost) {
    const auto& post = events.front().post;
    if (!post) return std::nullopt;
    write_post(message, mail, events.front(), *post, settings);
  } else {
    write_others(message, mail, events, settings);
  }
  message.set_date(now);
  return RenderedMail{.from = settings.from, .to = mail.address, .message = message.text()};
}

}  // namespace quarry::backoffice
