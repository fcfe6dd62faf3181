#include "mail_way.h"

#include <fmt/core.h>
#include <gmime/gmime.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <variant>

#include "child.h"
#include "mail_text.h"
#include "quarry/base/log.h"
#include "signature.h"

namespace quarry::courier {
namespace {

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Unref>;

/// The part of ADDRESS behind the @.
std::string domain_of(const std::string& address) {
  const std::size_t at = address.rfind('@');
  return at == std::string::npos ? "localhost" : address.substr(at + 1);
}

void set_text(GMimeMessage* message, const std::string& text) {
  const Owned<GMimeTextPart> part(g_mime_text_part_new());
  g_mime_text_part_set_charset(part.get(), "utf-8");
  g_mime_text_part_set_text(part.get(), text.c_str());
  g_mime_part_set_content_encoding(GMIME_PART(part.get()), GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE);
  g_mime_message_set_mime_part(message, GMIME_OBJECT(part.get()));
}

/// Those of sendmail(8) that say that another try is of no use.
bool is_final_exit(int code) {
  constexpr auto kFinal = std::to_array<int>({EX_DATAERR, EX_NOUSER, EX_NOHOST, EX_UNAVAILABLE});
  return std::ranges::find(kFinal, code) != kFinal.end();
}

}  // namespace

std::vector<std::string> recipients_of(const event::Event& event,
                                       const DestinationOptions& options) {
  if (const auto* notice = std::get_if<event::Notice>(&event.record)) return {notice->address};
  // A test, of who asked for it.
  if (options.is_to_submitter()) return {options.from};
  return options.to;
}

std::string compose_mail(const event::Event& event, const DestinationOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] { g_mime_init(); });
  const Owned<GMimeMessage> message(g_mime_message_new(1));
  g_mime_message_add_mailbox(message.get(), GMIME_ADDRESS_TYPE_FROM, nullptr, options.from.c_str());
  for (const std::string& each : recipients_of(event, options)) {
    g_mime_message_add_mailbox(message.get(), GMIME_ADDRESS_TYPE_TO, nullptr, each.c_str());
  }
  g_mime_message_set_subject(message.get(), subject_of(event).c_str(), "utf-8");
  GDateTime* date = g_date_time_new_from_unix_utc(event.head.time.value / 1000);
  if (date != nullptr) {
    g_mime_message_set_date(message.get(), date);
    g_date_time_unref(date);
  }
  // The same for the same event: who gets it twice can tell.
  const std::string id = signature_of("quarry", event.head.key).substr(0, 40);
  g_mime_message_set_message_id(message.get(),
                                fmt::format("{}@{}", id, domain_of(options.from)).c_str());
  g_mime_object_set_header(GMIME_OBJECT(message.get()), "Auto-Submitted", "auto-generated",
                           nullptr);
  g_mime_object_set_header(GMIME_OBJECT(message.get()), "X-Quarry-Event",
                           std::string(event::type_of(event)).c_str(), nullptr);
  set_text(message.get(), text_of(event));
  char* text = g_mime_object_to_string(GMIME_OBJECT(message.get()), nullptr);
  std::string composed = text;
  g_free(text);
  return composed;
}

base::Result<std::unique_ptr<Way>> MailWay::make(const DestinationOptions& options,
                                                 Interrupted is_interrupted) {
  std::unique_ptr<MailWay> way(new MailWay(options, std::move(is_interrupted)));
  if (!options.sendmail.empty()) return way;
  SmtpOptions smtp{.start_tls = options.start_tls, .user = options.user};
  if (!options.url.empty()) smtp.url = options.url;
  if (!options.password_file.empty()) {
    QUARRY_TRY_ASSIGN(smtp.password, read_secret(options.password_file));
  }
  smtp.ca_file = options.ca_file;
  smtp.timeout = options.delivery_timeout();
  smtp.connect_timeout = std::min(smtp.connect_timeout, smtp.timeout);
  smtp.is_interrupted = way->is_interrupted_;
  way->sender_ = std::make_unique<SmtpSender>(std::move(smtp));
  return way;
}

Delivered MailWay::deliver(const Letter& letter) {
  const std::string message = compose_mail(letter.event, options_);
  const auto recipients = recipients_of(letter.event, options_);
  return sender_ ? over_smtp(letter.message.id, recipients, message)
                 : through_sendmail(recipients, message);
}

Delivered MailWay::over_smtp(std::uint64_t id, const std::vector<std::string>& recipients,
                             const std::string& message) {
  Mail mail{options_.from, {}, message};
  std::set<std::string>& settled = settled_[id];
  for (const std::string& each : recipients) {
    if (!settled.contains(each)) mail.recipients.push_back(each);
  }
  const MailReport report = sender_->send(mail);
  if (report.is_any_later() && is_interrupted_()) return {.outcome = spool::Outcome::kReturned};
  bool is_sent_to_some = mail.recipients.size() < recipients.size();
  for (std::size_t i = 0; i < report.recipients.size(); ++i) {
    const RecipientFate& fate = report.recipients[i];
    if (fate.fate == MailFate::kLater) continue;
    if (fate.fate == MailFate::kSent) is_sent_to_some = true;
    if (fate.fate == MailFate::kRefused) {
      base::log(base::LogLevel::kWarning, "[{}] {} does not get event {}: {}", options_.name,
                base::printable(mail.recipients[i]), id, fate.why);
    }
    settled.insert(mail.recipients[i]);
  }
  if (report.is_any_later()) return later(report.why());
  settled_.erase(id);
  return is_sent_to_some ? Delivered{} : given_up(report.why());
}

Delivered MailWay::through_sendmail(const std::vector<std::string>& recipients,
                                    const std::string& message) {
  Command command{{options_.sendmail, "-i", "-f", options_.from, "--"},
                  small_environment(),
                  message,
                  options_.delivery_timeout()};
  for (const std::string& each : recipients) command.words.push_back(each);
  const auto ended = run_to_end(command, is_interrupted_);
  if (!ended) return later(ended.error().message);
  if (ended->how == Ended::How::kInterrupted) return {.outcome = spool::Outcome::kReturned};
  const bool is_exit = ended->how == Ended::How::kExited;
  if (is_exit && ended->code == 0) return {};
  std::string why = fmt::format("{}: {}: {}", options_.sendmail, in_words(*ended),
                                base::printable(ended->output));
  return is_exit && is_final_exit(ended->code) ? given_up(std::move(why)) : later(std::move(why));
}

}  // namespace quarry::courier
