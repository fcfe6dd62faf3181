#include "program_sender.h"

#include <fmt/core.h>

#include "quarry/base/command.h"
#include "quarry/base/log.h"
#include "small_environment.h"

namespace quarry::courier {
namespace {

constexpr int kPermanently = 100;

}  // namespace

DeliveryResult ProgramSender::deliver(const OutgoingEvent& outgoing) {
  base::Command command{options_.command, small_environment(), outgoing.message.content,
                        options_.delivery_timeout()};
  command.environment.push_back(fmt::format("QUARRY_EVENT={}", event::type_of(outgoing.event)));
  command.environment.push_back(fmt::format("QUARRY_DELIVERY={}", outgoing.message.id));
  const auto ended = base::run_command(command, is_interrupted_);
  if (!ended) return retry_later(ended.error().message);
  if (!ended->output.empty()) {
    base::log(base::LogLevel::kNotice, "[{}] {}: {}", options_.name, options_.command[0],
              base::printable(ended->output, command.max_output));
  }
  if (ended->how == base::CommandEnd::How::kInterrupted)
    return {.outcome = spool::Outcome::kReturned};
  if (ended->is_success()) return {};
  const bool is_exit = ended->how == base::CommandEnd::How::kExited;
  std::string why = fmt::format("{}: {}", options_.command[0], ended->in_words());
  return is_exit && ended->code == kPermanently ? give_up(std::move(why))
                                                : retry_later(std::move(why));
}

}  // namespace quarry::courier
