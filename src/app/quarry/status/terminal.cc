#include "terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "quarry/base/transfer.h"

namespace quarry::app {
namespace {

// Escape sequences. The sequences for the alternate screen are from xterm. Every terminal since the
// VT100 supports all other sequences. The terminal truncates long lines itself, because only the
// terminal knows the width of each character.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEndOfLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

std::size_t rows() {
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : 24;
}

/// Returns whether the terminal does not support escape sequences.
bool is_dumb() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) == "dumb";
}

}  // namespace

Terminal::Terminal()
    : is_terminal_(::isatty(STDOUT_FILENO) == 1 && !is_dumb()),
      has_keys_(is_terminal_ && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&watched, number);
  if (is_terminal_) ::sigaddset(&watched, SIGTSTP);
  if (is_terminal_) ::sigaddset(&watched, SIGWINCH);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  enter();
}

Terminal::~Terminal() {
  leave();
}

void Terminal::enter() {
  if (has_keys_) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  if (is_terminal_) base::write_all(STDOUT_FILENO, kEnter);
}

void Terminal::leave() {
  if (is_terminal_) base::write_all(STDOUT_FILENO, kLeave);
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

bool Terminal::show(const std::vector<std::string>& lines) {
  std::string frame(is_terminal_ ? kHome : "");
  const std::size_t shown = is_terminal_ ? std::min(lines.size(), rows()) : lines.size();
  for (std::size_t i = 0; i < shown; ++i) {
    frame += lines[i];
    if (is_terminal_) frame += kEndOfLine;
    // Omit the newline after the last line of a full screen, because it would scroll the screen.
    if (!is_terminal_ || i + 1 < shown) frame += "\n";
  }
  if (is_terminal_) frame += kClearBelow;
  return base::write_all(STDOUT_FILENO, frame);
}

Terminal::Input Terminal::wait(std::chrono::milliseconds time) {
  std::array<pollfd, 2> sources{{{signals_.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  const int count = ::poll(sources.data(), has_keys_ ? 2 : 1, static_cast<int>(time.count()));
  if (count <= 0) return {};
  if (sources[0].revents != 0) return {0, take_signal()};
  char key = 0;
  // If the terminal was closed, end the program as after SIGHUP.
  if (::read(STDIN_FILENO, &key, 1) != 1) return {0, SIGHUP};
  return {key, 0};
}

int Terminal::take_signal() {
  signalfd_siginfo signal{};
  if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) return 0;
  const int number = static_cast<int>(signal.ssi_signo);
  if (number == SIGWINCH) return 0;
  if (number != SIGTSTP) return number;
  leave();
  ::raise(SIGSTOP);
  enter();
  return 0;
}

}  // namespace quarry::app
