// Runs the after-receive hooks of repositories in the same way as `fossil backoffice`. Each hook is
// a command line for /bin/sh. Hooks get the list of received artifacts on standard input. The exit
// code is ignored, as in fossil, with one exception: a hook that exits with 75 (EX_TEMPFAIL) is
// retried, and later hooks do not wait for it. If a hook is killed by a signal or times out, its
// event becomes a dead letter, which an administrator can inspect and replay. When a hook ends, all
// processes that the hook has started are killed.

#include <fmt/core.h>
#include <sysexits.h>

#include <variant>

#include "quarry/base/command.h"
#include "quarry/base/fossil_environment.h"
#include "quarry/base/log.h"
#include "senders.h"

namespace quarry::courier {

namespace {

/// Returns whether NAME contains characters that are special to a shell. A blank does not count as
/// special: fossil splits words at blanks, too, so the author of a hook has to quote names with
/// blanks.
bool is_for_shell(std::string_view name) {
  return name.find_first_of("$`\"'\\;&|<>()*?[]{}!#~\n\r") != std::string_view::npos ||
         name.find('\0') != std::string_view::npos;
}

/// Returns small_environment() and additional variables for fossil.
std::vector<std::string> hook_environment() {
  const std::vector<std::string> small = small_environment();
  return base::fossil_environment(base::pointers_to(small).data());
}

class HookSender final : public Sender {
 public:
  HookSender(const CourierOptions& options, Interrupted is_interrupted)
      : timeout_(options.hook_timeout),
        fossil_(base::find_program(options.fossil)),
        is_interrupted_(std::move(is_interrupted)) {
    if (fossil_.empty()) fossil_ = options.fossil;
  }

  DeliveryResult deliver(const OutgoingEvent& outgoing) override {
    const auto* hook = std::get_if<event::Hook>(&outgoing.event.record);
    if (hook == nullptr) return {};
    const auto line = hook_line(*hook, fossil_);
    if (!line) return give_up(line.error().message);
    const base::Command command{
        {"/bin/sh", "-c", *line}, hook_environment(), hook->input, timeout_};
    const std::string repository = base::printable(outgoing.event.head.repository);
    const auto ended = run_to_deliver(command, is_interrupted_);
    if (!ended) return ended.error();
    if (!ended->output.empty()) {
      base::log(base::LogLevel::kNotice, "[hooks] {}: {}", repository,
                base::printable(ended->output, command.max_output));
    }
    std::string why = fmt::format("hook of {}: {}", repository, ended->in_words());
    if (ended->how != base::CommandEnd::How::kExited) return give_up(std::move(why));
    if (ended->code == EX_TEMPFAIL) return retry_later(std::move(why));
    if (ended->code != 0) base::log(base::LogLevel::kWarning, "[hooks] {}", why);
    return {};
  }

 private:
  std::chrono::milliseconds timeout_;
  std::string fossil_;  // replaces %F
  Interrupted is_interrupted_;
};

}  // namespace

Result<std::string> hook_line(const event::Hook& hook, const std::string& default_fossil) {
  const std::string& fossil = hook.fossil.empty() ? default_fossil : hook.fossil;
  std::string line;
  for (std::size_t i = 0; i < hook.command.size(); ++i) {
    const char c = hook.command[i];
    const char next = c == '%' && i + 1 < hook.command.size() ? hook.command[i + 1] : '\0';
    if (next == 'F' || next == 'R') {
      const std::string& name = next == 'F' ? fossil : hook.repository;
      if (is_for_shell(name)) {
        return fail(ErrorCode::kInvalid,
                    "cannot pass {} to a hook: it contains characters that are special to a shell",
                    base::printable(name));
      }
      line += name;
    } else if (next != 'A') {
      line += c;
      continue;
    }
    ++i;
  }
  return line;
}

std::unique_ptr<Sender> make_hook_sender(const CourierOptions& options,
                                         Interrupted is_interrupted) {
  return std::make_unique<HookSender>(options, std::move(is_interrupted));
}

}  // namespace quarry::courier
