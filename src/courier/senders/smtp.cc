#include "quarry/courier/smtp.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "smtp_dialogue.h"
#include "transfer/transfer.h"

namespace quarry::courier {

namespace {

constexpr std::size_t kMaxAddress = 320;  // RFC 5321: 64 before the @, 255 after it

/// Returns whether TEXT is an address. Other text could inject SMTP commands into the session.
bool is_address(std::string_view text) {
  return !text.empty() && text.size() <= kMaxAddress && std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f || c == '<' || c == '>';
  });
}

/// Returns TEXT with CRLF line endings.
std::string with_network_lines(std::string_view text) {
  std::string lines;
  lines.reserve(text.size() + text.size() / 32 + 2);
  char before = 0;
  for (const char c : text) {
    if (c == '\n' && before != '\r') lines += '\r';
    lines += c;
    before = c;
  }
  if (!lines.ends_with('\n')) lines += "\r\n";
  return lines;
}

MailReport refused(const Mail& mail, const std::string& why) {
  return {std::vector<RecipientResult>(mail.recipients.size(), {MailOutcome::kRefused, why})};
}

}  // namespace

bool MailReport::is_sent_to_all() const {
  return std::ranges::all_of(recipients,
                             [](const auto& each) { return each.outcome == MailOutcome::kSent; });
}

bool MailReport::is_any_deferred() const {
  return std::ranges::any_of(
      recipients, [](const auto& each) { return each.outcome == MailOutcome::kDeferred; });
}

std::string MailReport::why() const {
  const auto at = std::ranges::find_if(
      recipients, [](const auto& each) { return each.outcome != MailOutcome::kSent; });
  return at == recipients.end() ? std::string() : at->why;
}

struct SmtpSender::State {
  explicit State(SmtpOptions its_options)
      : options(std::move(its_options)),
        transfer(options.is_interrupted, options.ca_file),
        handle(transfer.handle()) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void prepare();
  void prepare_tls();
  MailReport attempt(const Mail& mail, curl_slist* recipients, bool on_new_connection);
  bool was_connection_new() const;

  static std::size_t read(char* buffer, std::size_t size, std::size_t count, void* self);
  static int trace(CURL*, curl_infotype type, char* bytes, std::size_t size, void* self);
  static std::size_t forget(char*, std::size_t size, std::size_t count, void*) {
    return size * count;
  }

  SmtpOptions options;
  Transfer transfer;
  CURL* handle;
  SmtpDialogue dialogue;
  std::string lines;  // the message with CRLF line endings
  std::size_t read_up_to = 0;
};

SmtpSender::State::~State() {
  // The cleanup sends QUIT and waits for the reply. Stop receiving first, so that a server that
  // hangs does not delay the cleanup for minutes.
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (handle != nullptr && curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK &&
      socket != CURL_SOCKET_BAD) {
    ::shutdown(socket, SHUT_RD);
  }
}

std::size_t SmtpSender::State::read(char* buffer, std::size_t size, std::size_t count, void* self) {
  auto& state = *static_cast<State*>(self);
  const std::size_t length = std::min(size * count, state.lines.size() - state.read_up_to);
  std::copy_n(state.lines.data() + state.read_up_to, length, buffer);
  state.read_up_to += length;
  return length;
}

int SmtpSender::State::trace(CURL* /*unused*/, curl_infotype type, char* bytes, std::size_t size,
                             void* self) {
  auto& dialogue = static_cast<State*>(self)->dialogue;
  if (type == CURLINFO_HEADER_OUT) dialogue.sent({bytes, size});
  if (type == CURLINFO_HEADER_IN) dialogue.received({bytes, size});
  return 0;
}

void SmtpSender::State::prepare_tls() {
  const bool is_required = options.start_tls == StartTls::kRequired;
  const bool is_checked = is_required || options.url.starts_with("smtps:") ||
                          !options.ca_file.empty() || !options.user.empty();
  curl_easy_setopt(handle, CURLOPT_USE_SSL,
                   static_cast<long>(is_required                           ? CURLUSESSL_ALL
                                     : options.start_tls == StartTls::kOff ? CURLUSESSL_NONE
                                                                           : CURLUSESSL_TRY));
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, is_checked ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, is_checked ? 2L : 0L);
}

void SmtpSender::State::prepare() {
  curl_easy_setopt(handle, CURLOPT_URL, options.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(options.connect_timeout.count()));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
  prepare_tls();
  if (!options.user.empty()) {
    curl_easy_setopt(handle, CURLOPT_USERNAME, options.user.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, options.password.c_str());
  }
  curl_easy_setopt(handle, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
  curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(handle, CURLOPT_READFUNCTION, &State::read);
  curl_easy_setopt(handle, CURLOPT_READDATA, this);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &State::forget);
  // Use verbose mode, because libcurl calls the debug function only in this mode. Nothing is
  // printed.
  curl_easy_setopt(handle, CURLOPT_VERBOSE, 1L);
  curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, &State::trace);
  curl_easy_setopt(handle, CURLOPT_DEBUGDATA, this);
}

bool SmtpSender::State::was_connection_new() const {
  long connects = 0;
  curl_easy_getinfo(handle, CURLINFO_NUM_CONNECTS, &connects);
  return connects > 0;
}

MailReport SmtpSender::State::attempt(const Mail& mail, curl_slist* recipients,
                                      bool on_new_connection) {
  read_up_to = 0;
  dialogue.begin(mail.recipients.size());
  curl_easy_setopt(handle, CURLOPT_MAIL_FROM, mail.from.c_str());
  curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, recipients);
  curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(lines.size()));
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, on_new_connection ? 1L : 0L);
  const CURLcode code = transfer.perform();
  curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, nullptr);
  if (code == CURLE_OK) return dialogue.report("");
  return dialogue.report(
      fmt::format("{}: {}", base::without_secrets(options.url), transfer.error(code)));
}

SmtpSender::SmtpSender(SmtpOptions options) : state_(std::make_unique<State>(std::move(options))) {
  if (state_->handle != nullptr) state_->prepare();
}

SmtpSender::~SmtpSender() = default;

MailReport SmtpSender::send(const Mail& mail) {
  if (mail.message.size() > kMaxMail) {
    return refused(mail, fmt::format("the email is longer than {} bytes", kMaxMail));
  }
  if (mail.recipients.size() > kMaxRecipients) {
    return refused(mail, fmt::format("the email has more than {} recipients", kMaxRecipients));
  }
  if (mail.recipients.empty()) return {};
  if (!mail.from.empty() && !is_address(mail.from)) {
    return refused(mail, fmt::format("invalid sender address \"{}\"", base::printable(mail.from)));
  }
  MailReport report = refused(mail, "invalid address");
  Mail sent{mail.from, {}, mail.message};
  std::vector<std::size_t> indices;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> recipients(nullptr,
                                                                         &curl_slist_free_all);
  for (std::size_t i = 0; i < mail.recipients.size(); ++i) {
    if (!is_address(mail.recipients[i])) continue;
    curl_slist* longer = curl_slist_append(recipients.get(), mail.recipients[i].c_str());
    if (longer == nullptr || state_->handle == nullptr) {
      return {std::vector<RecipientResult>(mail.recipients.size(),
                                           {MailOutcome::kDeferred, "out of memory"})};
    }
    // Replace the pointer without freeing the list: LONGER is the same list with one more element.
    (void)recipients.release();
    recipients.reset(longer);
    sent.recipients.push_back(mail.recipients[i]);
    indices.push_back(i);
  }
  if (indices.empty()) return report;
  state_->lines = with_network_lines(mail.message);
  MailReport taken = state_->attempt(sent, recipients.get(), false);
  // The server might have closed an idle connection. Retry on a new connection.
  if (taken.is_any_deferred() && !state_->was_connection_new() &&
      !state_->dialogue.has_begun_message()) {
    taken = state_->attempt(sent, recipients.get(), true);
  }
  state_->lines = {};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    report.recipients[indices[i]] = std::move(taken.recipients[i]);
  }
  return report;
}

}  // namespace quarry::courier
