#include "program_way.h"

#include <fmt/core.h>

#include "child.h"
#include "quarry/base/log.h"

namespace quarry::courier {
namespace {

constexpr int kPermanently = 100;

}  // namespace

Delivered ProgramWay::deliver(const Letter& letter) {
  Command command{options_.command, small_environment(), letter.message.content,
                  options_.delivery_timeout()};
  command.environment.push_back(fmt::format("QUARRY_EVENT={}", event::type_of(letter.event)));
  command.environment.push_back(fmt::format("QUARRY_DELIVERY={}", letter.message.id));
  const auto ended = run_to_end(command, is_interrupted_);
  if (!ended) return later(ended.error().message);
  if (!ended->output.empty()) {
    base::log(base::LogLevel::kNotice, "[{}] {}: {}", options_.name, options_.command[0],
              base::printable(ended->output, kMostOutput));
  }
  if (ended->how == Ended::How::kInterrupted) return {.outcome = spool::Outcome::kReturned};
  const bool is_exit = ended->how == Ended::How::kExited;
  if (is_exit && ended->code == 0) return {};
  std::string why = fmt::format("{}: {}", options_.command[0], in_words(*ended));
  return is_exit && ended->code == kPermanently ? given_up(std::move(why)) : later(std::move(why));
}

}  // namespace quarry::courier
