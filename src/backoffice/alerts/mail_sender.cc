#include "mail_sender.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

#include "quarry/base/command.h"
#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/transfer.h"
#include "quarry/base/url.h"
#include "quarry/courier/smtp.h"
#include "quarry/repository/mail_database.h"

namespace quarry::backoffice {

namespace {

constexpr std::chrono::seconds kCommandTime{60};
// Maximum size of a command's output in an error message.
constexpr std::size_t kMaxWhy = 500;
// The shell's exit codes for commands that cannot be executed or were not found.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// Limits on a delivery. An email is claimed only for some minutes, so a delivery to a slow server
// is aborted and retried later. Signals do not interrupt a delivery. Otherwise, it would be unknown
// whether the server has accepted the email.
constexpr std::chrono::seconds kConnectTime{15};
constexpr std::chrono::seconds kMailTime{60};
// If a failed delivery took longer than this, the run ends, because the server will probably not
// answer for the next email either.
constexpr std::chrono::seconds kSilence{10};

/// Returns a new file name. The name consists of the time in seconds and a random part, which
/// distinguishes emails of the same second.
std::string new_name(base::UnixMillis now) {
  std::string name;
  for (const char c : base::iso_seconds(now)) {
    if (c >= '0' && c <= '9') name += c;
  }
  std::random_device random;
  return fmt::format("{}{:010}.email", name, random());
}

/// For the email-send-method `dir`: writes MAIL to a file in the folder PATH. The file's name
/// starts with a dot until the file is complete and synced. The final name ends in ".email".
Result<void> send_to_folder(const std::string& path, const base::Clock& clock,
                            const RenderedMail& mail) {
  const auto trouble = [&path](const char* what) {
    const auto error = fail_errno("cannot {} {} (email-send-dir)", what, path);
    return fail(ErrorCode::kBusy, error.error().message);
  };
  const base::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return trouble("open");
  const std::string name = new_name(clock.now());
  const std::string hidden = "." + name;
  // The umask determines the mode, because another user might process the files.
  const base::Fd file(::openat(folder.get(), hidden.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return trouble("create a file in");
  if (!base::write_all(file.get(), mail.message) || ::fsync(file.get()) != 0 ||
      ::renameat(folder.get(), hidden.c_str(), folder.get(), name.c_str()) != 0) {
    auto error = trouble("write to");
    ::unlinkat(folder.get(), hidden.c_str(), 0);
    return error;
  }
  return ::fsync(folder.get()) == 0 ? Result<void>() : trouble("sync");
}

/// For the email-send-method `db`: returns a sender that inserts a row into the database PATH.
SendMail to_database(const std::string& path) {
  auto database = std::make_shared<std::unique_ptr<repository::MailDatabase>>();
  return [path, database](const RenderedMail& mail) -> Result<void> {
    const auto done = [&]() -> Result<void> {
      if (!*database) {
        QUARRY_TRY_ASSIGN(*database, repository::MailDatabase::open(path));
      }
      return (*database)->add(mail.message);
    }();
    if (done) return {};
    return fail(ErrorCode::kBusy, done.error().message + " (email-send-db)");
  };
}

/// For the email-send-method `relay`: returns a sender to the SMTP server HOST, which can include a
/// port (default: 25). The greeting contains DOMAIN. Errors: kInvalid.
Result<SendMail> to_relay(const std::string& host, const std::string& domain) {
  const auto is_host = [](std::string_view text) {
    return !text.empty() && text.size() <= 300 && std::ranges::all_of(text, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             std::string_view(".-_:[]").contains(c);
    });
  };
  courier::SmtpOptions options{.url = "smtp://" + host + (is_host(domain) ? "/" + domain : ""),
                               .connect_timeout = kConnectTime,
                               .timeout = kMailTime};
  if (!is_host(host) || !courier::check_smtp_url(options.url)) {
    return fail(ErrorCode::kInvalid,
                "email-send-relayhost is \"{}\", which is not "
                "HOST or HOST:PORT",
                base::with_masked_secrets(base::printable(host)));
  }
  const auto smtp = std::make_shared<courier::SmtpSender>(std::move(options));
  return [host, smtp](const RenderedMail& mail) -> Result<void> {
    const auto begin = std::chrono::steady_clock::now();
    const courier::MailReport report =
        smtp->send({.from = mail.from, .recipients = {mail.to}, .message = mail.message});
    if (report.is_sent_to_all()) return {};
    const std::string why = fmt::format("{} (email-send-relayhost): {}", host, report.why());
    if (!report.is_any_deferred()) return fail(ErrorCode::kDenied, why);
    const bool was_silent = std::chrono::steady_clock::now() - begin > kSilence;
    return fail(was_silent ? ErrorCode::kBusy : ErrorCode::kIo, why);
  };
}

Result<std::string> needed(repository::Repository& repository, const char* name) {
  std::string value = repository.settings().get(name).value_or("");
  if (!value.empty()) return value;
  return fail(ErrorCode::kInvalid, "the {} setting is not set", name);
}

}  // namespace

Result<void> print_mail(const RenderedMail& mail) {
  fmt::print("{}\n", mail.message);
  if (std::fflush(stdout) == 0) return {};
  const auto error = fail_errno("cannot write to standard output");
  return fail(ErrorCode::kBusy, error.error().message);
}

Result<void> pipe_mail(const std::string& command, std::chrono::milliseconds timeout,
                       const RenderedMail& mail) {
  // Errors name the setting instead of the command line, which might contain a password. The
  // command's background processes continue, because some mail systems deliver in the background.
  constexpr const char* kName = "email-send-command";
  const auto end = base::run_command({.words = {"/bin/sh", "-c", command},
                                      .input = mail.message,
                                      .timeout = timeout,
                                      .folder = {},
                                      .max_output = kMaxWhy,
                                      .background = base::Background::kContinues});
  if (!end) {
    return fail(ErrorCode::kBusy, "{}: {}", kName, end.error().message);
  }
  if (end->is_success()) return {};
  const std::string why =
      fmt::format("{}: {}{}{}", kName, end->in_words(), end->output.empty() ? "" : ": ",
                  base::printable(end->output, kMaxWhy));
  if (end->how != base::CommandEnd::How::kExited) return fail(ErrorCode::kIo, why);
  switch (end->code) {
    case kNotFound:
    case kNotExecutable:
      return fail(ErrorCode::kBusy, why);
    case EX_DATAERR:
    case EX_NOUSER:
    case EX_NOHOST:
      return fail(ErrorCode::kDenied, why);
    default:
      return fail(ErrorCode::kIo, why);
  }
}

Result<SendMail> mail_sender_for(repository::Repository& repository,
                                 const std::vector<std::string>& methods) {
  const std::string method = repository.settings().get("email-send-method").value_or("off");
  if (method.empty() || method == "off") return SendMail();
  if (!methods.empty() && std::ranges::find(methods, method) == methods.end()) {
    const bool is_root = ::geteuid() == 0 && method != "relay";
    return fail(ErrorCode::kDenied, "email-send-method is \"{}\", which {}",
                base::printable(method),
                is_root ? "root does not use: change the owner of the repository, or "
                          "use relay"
                        : "the pool's backoffice.mail_methods does not allow");
  }
  if (method == "stdout") return print_mail;
  if (method == "dir") {
    QUARRY_TRY_ASSIGN(const std::string folder, needed(repository, "email-send-dir"));
    return [folder, clock = repository.options().clock](const RenderedMail& mail) {
      return send_to_folder(folder, *clock, mail);
    };
  }
  if (method == "db") {
    QUARRY_TRY_ASSIGN(const std::string path, needed(repository, "email-send-db"));
    return to_database(path);
  }
  if (method == "pipe") {
    QUARRY_TRY_ASSIGN(const std::string command, needed(repository, "email-send-command"));
    return [command](const RenderedMail& mail) { return pipe_mail(command, kCommandTime, mail); };
  }
  if (method == "relay") {
    QUARRY_TRY_ASSIGN(const std::string host, needed(repository, "email-send-relayhost"));
    QUARRY_TRY_ASSIGN(const std::string self, needed(repository, "email-self"));
    return to_relay(host, self.substr(self.find('@') + 1));
  }
  return fail(ErrorCode::kInvalid,
              "unknown email-send-method \"{}\": use off, dir, "
              "db, pipe, relay or stdout",
              base::printable(method));
}

}  // namespace quarry::backoffice
