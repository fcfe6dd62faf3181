// Runs a program for each event, with the event's JSON on standard input.
//
//   exit code 0      done
//   exit code 100    permanent failure, as in qmail
//   anything else    retry, also after a signal or a timeout, or if the program cannot be started

#include <fmt/core.h>

#include <cstdlib>

#include "quarry/base/log.h"
#include "senders.h"

namespace quarry::courier {
namespace {

constexpr int kPermanently = 100;

class ProgramSender final : public Sender {
 public:
  ProgramSender(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options), is_interrupted_(std::move(is_interrupted)) {}

  DeliveryResult deliver(const OutgoingEvent& outgoing) override {
    base::Command command{options_.command, small_environment(), outgoing.message.content,
                          options_.delivery_timeout()};
    command.environment.push_back(fmt::format("QUARRY_EVENT={}", event::type_of(outgoing.event)));
    command.environment.push_back(fmt::format("QUARRY_DELIVERY={}", outgoing.message.id));
    const auto ended = run_to_deliver(command, is_interrupted_);
    if (!ended) return ended.error();
    if (!ended->output.empty()) {
      base::log(base::LogLevel::kNotice, "[{}] {}: {}", options_.name, options_.command[0],
                base::printable(ended->output, command.max_output));
    }
    if (ended->is_success()) return {};
    const bool is_exit = ended->how == base::CommandEnd::How::kExited;
    std::string why = fmt::format("{}: {}", options_.command[0], ended->in_words());
    return is_exit && ended->code == kPermanently ? give_up(std::move(why))
                                                  : retry_later(std::move(why));
  }

 private:
  DestinationOptions options_;
  Interrupted is_interrupted_;
};

}  // namespace

std::vector<std::string> small_environment() {
  std::vector<std::string> environment = {fmt::format("PATH={}", base::search_path())};
  for (const char* name : {"HOME", "USER", "LANG", "TZ", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(fmt::format("{}={}", name, value));
    }
  }
  return environment;
}

std::expected<base::CommandEnd, DeliveryResult> run_to_deliver(const base::Command& command,
                                                               const Interrupted& is_interrupted) {
  auto ended = base::run_command(command, is_interrupted);
  if (!ended) return std::unexpected(retry_later(ended.error().message));
  if (ended->how == base::CommandEnd::How::kInterrupted) {
    return std::unexpected(DeliveryResult{.outcome = spool::Outcome::kReturned});
  }
  return std::move(*ended);
}

std::unique_ptr<Sender> make_program_sender(const DestinationOptions& options,
                                            Interrupted is_interrupted) {
  return std::make_unique<ProgramSender>(options, std::move(is_interrupted));
}

}  // namespace quarry::courier
