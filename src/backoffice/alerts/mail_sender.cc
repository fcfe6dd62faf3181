#include "mail_sender.h"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "mail_command.h"
#include "mail_folder.h"
#include "mail_relay.h"
#include "quarry/base/escape.h"
#include "quarry/repository/mail_database.h"

namespace quarry::backoffice {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

/// email-send-method `db`.
class MailTable : public MailSender {
 public:
  explicit MailTable(std::string path) : path_(std::move(path)) {}

  Result<void> send(const RenderedMail& mail) override {
    Result<void> done = add(mail);
    if (done) return done;
    return fail(ErrorCode::kBusy, done.error().message + " (email-send-db)");
  }

 private:
  Result<void> add(const RenderedMail& mail) {
    if (!database_) {
      QUARRY_TRY_ASSIGN(database_, repository::MailDatabase::open(path_));
    }
    return database_->add(mail.message);
  }

  std::string path_;
  std::unique_ptr<repository::MailDatabase> database_;
};

/// email-send-method `stdout`.
class MailPrinter : public MailSender {
 public:
  Result<void> send(const RenderedMail& mail) override {
    fmt::print("{}\n", mail.message);
    if (std::fflush(stdout) == 0) return {};
    return fail(ErrorCode::kBusy, base::fail_errno("standard output").error().message);
  }
};

Result<std::string> needed(repository::Repository& repository, const char* name) {
  std::string value = repository.settings().get(name).value_or("");
  if (!value.empty()) return value;
  return fail(ErrorCode::kInvalid, fmt::format("the setting {} is needed, and is not set", name));
}

}  // namespace

std::unique_ptr<MailSender> make_printer() {
  return std::make_unique<MailPrinter>();
}

Result<std::unique_ptr<MailSender>> make_sender(repository::Repository& repository) {
  using Sender = std::unique_ptr<MailSender>;
  const std::string method = repository.settings().get("email-send-method").value_or("off");
  if (method.empty() || method == "off") return Sender{};
  if (method == "stdout") return make_printer();
  if (method == "dir") {
    QUARRY_TRY_ASSIGN(std::string folder, needed(repository, "email-send-dir"));
    return Sender(std::make_unique<MailFolder>(std::move(folder), *repository.options().clock));
  }
  if (method == "db") {
    QUARRY_TRY_ASSIGN(std::string path, needed(repository, "email-send-db"));
    return Sender(std::make_unique<MailTable>(std::move(path)));
  }
  if (method == "pipe") {
    QUARRY_TRY_ASSIGN(std::string command, needed(repository, "email-send-command"));
    return Sender(std::make_unique<MailCommand>(std::move(command)));
  }
  if (method == "relay") {
    QUARRY_TRY_ASSIGN(const std::string host, needed(repository, "email-send-relayhost"));
    QUARRY_TRY_ASSIGN(const std::string self, needed(repository, "email-self"));
    return MailRelay::make(host, self.substr(self.find('@') + 1));
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("email-send-method is \"{}\": off, dir, db, pipe, relay and stdout are "
                          "known",
                          base::printable(method)));
}

}  // namespace quarry::backoffice
