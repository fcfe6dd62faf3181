// quarry top: a live view of a running server.

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "common/exit_codes.h"
#include "common/interruption.h"
#include "server_control.h"
#include "status_commands.h"
#include "status_view.h"
#include "terminal.h"

namespace quarry::app {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kKeys = "q: quit   sort by: r requests, b bytes, a active, n name";

Result<StatusSample> take_sample(const ServerControl& server) {
  QUARRY_TRY_ASSIGN(const auto answer, server.ask(control::Question::kFullStatus));
  const double at = duration<double>(steady_clock::now().time_since_epoch()).count();
  QUARRY_TRY_ASSIGN(auto document, parse_status(answer));
  return StatusSample{std::move(document), at};
}

/// Returns the order that KEY selects, or nullopt for other keys.
std::optional<Order> order_of(char key) {
  switch (key) {
    case 'r':
      return Order::kRequests;
    case 'b':
      return Order::kBytes;
    case 'a':
      return Order::kActive;
    case 'n':
      return Order::kName;
    default:
      return std::nullopt;
  }
}

class Top {
 public:
  Top(const TopArguments& arguments, StatusSample first)
      : arguments_(arguments), last_(std::move(first)) {}

  /// Runs the display. Returns the signal that ended the display. Returns 0 if the display ended
  /// because of a key, the last update or a closed pipe.
  int run() {
    // Rates need two samples, so the first screen does not contain rates.
    if (terminal_.is_terminal() && !show()) return 0;
    for (std::uint64_t shown = 0; shown == 0 || shown != arguments_.count; ++shown) {
      if (!wait()) return signal_;
      sample();
      // If the output is a terminal, try again after an error. Otherwise exit, so that scripts get
      // the error.
      if (!trouble_.empty() && !terminal_.is_terminal()) break;
      if (!show()) break;
    }
    return 0;
  }

  const std::string& trouble() const { return trouble_; }

 private:
  bool show() {
    const std::int64_t now = std::time(nullptr);
    Lines lines = server_lines(last_.server, now);
    if (terminal_.is_terminal()) lines.emplace_back(trouble_.empty() ? kKeys : trouble_);
    lines.emplace_back();
    const Lines activity = activity_lines(before_, last_, order_, now);
    lines.insert(lines.end(), activity.begin(), activity.end());
    if (!terminal_.is_terminal()) lines.emplace_back();
    return terminal_.show(lines);
  }

  /// Waits until the next sample is due. Returns false if the program should exit.
  bool wait() {
    const auto end = steady_clock::now() + duration<double>(arguments_.interval);
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
      if (left.count() <= 0) return true;
      const Terminal::Input input = terminal_.wait(left);
      signal_ = input.signal;
      if (signal_ != 0 || input.key == 'q') return false;
      if (const auto order = order_of(input.key)) order_ = *order;
      if (steady_clock::now() >= end) return true;
      // Redraw, because the sort order or the size of the window might have changed.
      if (!show()) return false;
    }
  }

  void sample() {
    auto next = take_sample(arguments_.server);
    trouble_ = next ? "" : next.error().message;
    if (!next) return;
    before_ = std::exchange(last_, std::move(*next));
  }

  const TopArguments& arguments_;
  StatusSample last_;
  std::optional<StatusSample> before_;
  Order order_ = Order::kRequests;
  int signal_ = 0;
  std::string trouble_;
  Terminal terminal_;
};

}  // namespace

int run_top(const TopArguments& arguments) {
  auto first = take_sample(arguments.server);
  if (!first) return failed(first.error());
  int signal = 0;
  std::string trouble;
  {
    Top top(arguments, std::move(*first));
    signal = top.run();
    trouble = top.trouble();
  }
  if (signal == 0) return trouble.empty() ? kDone : failed({.message = trouble});
  // Raise the signal only after the destructor of `top` has restored the terminal.
  return exit_by_signal(signal);
}

}  // namespace quarry::app
