// A program for the end-to-end tests of the courier. `hand-over-events SOCKET` reads events from
// standard input, one JSON object per line, and appends them to the courier's stream. It prints the
// number of events.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "quarry/event/event.h"
#include "quarry/spool/hand_over.h"

using namespace quarry;

int main(int argc, char** argv) {
  std::string socket;
  std::size_t batch = 100;
  CLI::App app("Hands events over");
  app.add_option("socket", socket)->required();
  app.add_option("--batch", batch);
  CLI11_PARSE(app, argc, argv);
  std::vector<spool::NewMessage> messages;
  for (std::string line; std::getline(std::cin, line);) {
    const auto event = event::parse(line);
    messages.push_back({line, event ? event->head.key : ""});
  }
  const spool::HandOver handing(socket, std::chrono::seconds(20));
  for (std::size_t i = 0; i < messages.size(); i += batch) {
    const std::span<const spool::NewMessage> all(messages);
    const auto done = handing.hand_over(all.subspan(i, std::min(batch, messages.size() - i)));
    if (!done) {
      fmt::print(stderr, "{}\n", done.error().message);
      return 1;
    }
  }
  fmt::print("{}\n", messages.size());
  return 0;
}
