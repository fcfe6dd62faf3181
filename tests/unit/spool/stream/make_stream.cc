// Creates a stream `events` for the tests of `quarry spool`, or keeps it open:
//
//   make-stream FOLDER         creates the stream with five messages and two subscriptions; `mail`
//                              has delivered the first message, given up the second and third, and
//                              will retry the fourth
//   make-stream FOLDER hold    opens the stream, prints a line, and waits for the end of standard
//                              input
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/spool/stream.h"

using namespace quarry::spool;

namespace {

bool make(Stream& stream) {
  const auto mail = stream.subscribe("mail");
  const auto hook = stream.subscribe("hook");
  if (!mail || !hook) return false;
  std::vector<NewMessage> messages;
  for (int i = 1; i <= 5; ++i) {
    messages.push_back({.content = "event " + std::to_string(i), .key = "k" + std::to_string(i)});
  }
  if (!stream.append(messages) || !(*mail)->take(4)) return false;
  const std::vector<Settlement> settled{
      {.sequence = 1},
      {.sequence = 2, .outcome = Outcome::kGivenUp, .error = "550 no such user"},
      {.sequence = 3, .outcome = Outcome::kGivenUp, .error = "550 no such user"},
      {.sequence = 4, .outcome = Outcome::kRetry, .error = "451 try again"}};
  return (*mail)->settle(settled).has_value();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const bool is_to_hold = count > 2 && arguments[2] == std::string_view("hold");
  const auto report = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const auto stream =
      Stream::open({.location = {.folder = arguments[1], .name = "events"}}, report);
  if (!stream) return 1;
  if (!is_to_hold) return make(**stream) ? 0 : 1;
  std::puts("holding");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
