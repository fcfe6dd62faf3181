#include "mail_command.h"

#include <fmt/core.h>
#include <sysexits.h>

#include <utility>

#include "quarry/base/command.h"
#include "quarry/base/escape.h"

namespace quarry::backoffice {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// Bytes of the command's output to report.
constexpr std::size_t kMaxWhy = 500;
// The shell's exit codes for a command that cannot be executed, or is not found.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

Result<void> verdict(const base::CommandEnd& end, const std::string& what) {
  const std::string said =
      end.output.empty() ? "" : fmt::format(": {}", base::printable(end.output, kMaxWhy));
  if (end.how == base::CommandEnd::How::kKilled) {
    return fail(ErrorCode::kIo, fmt::format("{} ended by signal {}{}", what, end.code, said));
  }
  if (end.is_success()) return {};
  const std::string message = fmt::format("{} ended with exit code {}{}", what, end.code, said);
  if (end.code == kNotFound || end.code == kNotExecutable) return fail(ErrorCode::kBusy, message);
  const bool is_refused = end.code == EX_DATAERR || end.code == EX_NOUSER || end.code == EX_NOHOST;
  return fail(is_refused ? ErrorCode::kDenied : ErrorCode::kIo, message);
}

}  // namespace

MailCommand::MailCommand(std::string command, std::chrono::milliseconds timeout)
    : command_(std::move(command)), timeout_(timeout) {}

Result<void> MailCommand::send(const RenderedMail& mail) {
  // The command line is not logged, because it may contain a password.
  const std::string what = "the command of email-send-command";
  const auto end = base::run_command({.words = {"/bin/sh", "-c", command_},
                                      .input = mail.message,
                                      .timeout = timeout_,
                                      .folder = {},
                                      .max_output = kMaxWhy});
  if (!end) {
    return fail(ErrorCode::kBusy, fmt::format("{}: {}", what, end.error().message));
  }
  if (end->how == base::CommandEnd::How::kTimedOut) {
    return fail(ErrorCode::kIo, fmt::format("{} took longer than {} s and was ended", what,
                                            timeout_.count() / 1000));
  }
  return verdict(*end, what);
}

}  // namespace quarry::backoffice
