#include "quarry/courier/mail_message.h"

#include <fmt/core.h>
#include <gmime/gmime.h>

#include <mutex>

namespace quarry::courier {
namespace {

struct ReleaseText {
  void operator()(char* text) const { g_free(text); }
};
using GText = std::unique_ptr<char, ReleaseText>;

struct ReleaseObject {
  void operator()(gpointer object) const { g_object_unref(object); }
};

std::string as_utf8(const std::string& text) {
  const GText valid(g_utf8_make_valid(text.data(), static_cast<gssize>(text.size())));
  return valid.get();
}

/// Returns TEXT on one line. Replaces each control character with a space, because a control
/// character could end a header.
std::string on_one_line(const std::string& text) {
  std::string line = as_utf8(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') c = ' ';
  }
  return line;
}

/// Returns TEXT with non-ASCII bytes percent-encoded.
std::string in_ascii(const std::string& text) {
  std::string ascii;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      ascii += c;
    } else {
      ascii += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return ascii;
}

/// Returns TEXT without control characters, except those that are usual in plain text.
std::string body_text(const std::string& text) {
  std::string body;
  for (const char c : as_utf8(text)) {
    if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') body += c;
  }
  return body;
}

}  // namespace

void MailMessage::Release::operator()(GMimeMessage* message) const {
  g_object_unref(message);
}

MailMessage::MailMessage() {
  static std::once_flag once;
  std::call_once(once, [] { g_mime_init(); });
  message_.reset(g_mime_message_new(FALSE));
}

void MailMessage::set_from(const std::string& name, const std::string& address) {
  g_mime_message_add_mailbox(message_.get(), GMIME_ADDRESS_TYPE_FROM,
                             name.empty() ? nullptr : on_one_line(name).c_str(),
                             on_one_line(address).c_str());
}

void MailMessage::add_recipient(const std::string& address) {
  g_mime_message_add_mailbox(message_.get(), GMIME_ADDRESS_TYPE_TO, nullptr,
                             on_one_line(address).c_str());
}

void MailMessage::set_subject(const std::string& subject) {
  g_mime_message_set_subject(message_.get(), on_one_line(subject).c_str(), "utf-8");
}

void MailMessage::set_date(base::UnixMillis time) {
  GDateTime* date = g_date_time_new_from_unix_utc(time.value / 1000);
  if (date == nullptr) return;
  g_mime_message_set_date(message_.get(), date);
  g_date_time_unref(date);
}

void MailMessage::set_message_id(const std::string& id) {
  g_mime_message_set_message_id(message_.get(), on_one_line(id).c_str());
}

void MailMessage::set_header(const char* name, const std::string& value) {
  g_mime_object_set_header(GMIME_OBJECT(message_.get()), name, on_one_line(value).c_str(), "utf-8");
}

void MailMessage::set_token_header(const char* name, const std::string& value) {
  set_header(name, "-");
  GMimeHeader* header = g_mime_header_list_get_header(
      g_mime_object_get_header_list(GMIME_OBJECT(message_.get())), name);
  g_mime_header_set_raw_value(header, (" " + in_ascii(on_one_line(value)) + "\n").c_str());
}

void MailMessage::set_body(const std::string& text) {
  const std::string body = body_text(text);
  const std::unique_ptr<GMimeStream, ReleaseObject> stream(
      g_mime_stream_mem_new_with_buffer(body.data(), body.size()));
  const std::unique_ptr<GMimeDataWrapper, ReleaseObject> content(
      g_mime_data_wrapper_new_with_stream(stream.get(), GMIME_CONTENT_ENCODING_DEFAULT));
  // The charset is always UTF-8, even if ASCII is sufficient.
  const std::unique_ptr<GMimeTextPart, ReleaseObject> part(g_mime_text_part_new());
  g_mime_text_part_set_charset(part.get(), "utf-8");
  g_mime_part_set_content(GMIME_PART(part.get()), content.get());
  g_mime_part_set_content_encoding(GMIME_PART(part.get()), GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE);
  g_mime_message_set_mime_part(message_.get(), GMIME_OBJECT(part.get()));
}

std::string MailMessage::text(LineEnd line_end) const {
  GMimeFormatOptions* format = g_mime_format_options_new();
  g_mime_format_options_set_newline_format(
      format, line_end == LineEnd::kCrLf ? GMIME_NEWLINE_FORMAT_DOS : GMIME_NEWLINE_FORMAT_UNIX);
  const GText text(g_mime_object_to_string(GMIME_OBJECT(message_.get()), format));
  g_mime_format_options_free(format);
  return text.get();
}

}  // namespace quarry::courier
