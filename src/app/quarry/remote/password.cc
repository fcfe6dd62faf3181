#include "password.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/rand.h>
#include <poll.h>
#include <pwd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "common/interruption.h"
#include "quarry/base/fd.h"
#include "quarry/base/hex.h"
#include "quarry/base/url.h"

namespace quarry::app {
namespace {

constexpr std::array<unsigned char, 16> kMask = {0xa7, 0x21, 0x31, 0xe3, 0x2a, 0x50, 0x2c, 0x86,
                                                 0x4c, 0xa4, 0x52, 0x25, 0xff, 0x49, 0x35, 0x85};

/// Returns the text that might be a password if ARGUMENT contains a URL: all text from the first
/// colon after the scheme to the last @. A password can contain both characters. The text can also
/// be a port or a path.
std::string_view password_in(std::string_view argument) {
  const std::size_t scheme = argument.find("://");
  if (scheme == std::string_view::npos) return {};
  const std::size_t colon = argument.find(':', scheme + 1);
  const std::size_t at = argument.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon) return {};
  return argument.substr(colon + 1, at - colon - 1);
}

/// Returns the values in the query string of the URL ARGUMENT: all text after the first "=", or the
/// whole query if it does not contain "=". Returns "" if ARGUMENT is not a URL with a query.
std::string_view query_values_in(std::string_view argument) {
  const std::size_t scheme = argument.find("://");
  if (scheme == std::string_view::npos) return {};
  const std::size_t question = argument.find('?', scheme);
  if (question == std::string_view::npos) return {};
  const std::string_view query = argument.substr(question + 1);
  return query.substr(query.find('=') + 1);  // without "=": npos + 1 is 0
}

/// Replaces PART of ARGUMENT by a single star, which hides the length of PART. Moves the text after
/// PART directly behind the star.
void overwrite(char* argument, std::string_view part) {
  if (part.empty()) return;
  char* const begin = argument + (part.data() - argument);
  const std::size_t rest = std::strlen(begin) - part.size();
  *begin = '*';
  std::memmove(begin + 1, begin + part.size(), rest);
  std::memset(begin + 1 + rest, 0, part.size() - 1);
}

/// Returns the value of `--password` in argument I.
std::string_view value_of_password(int argc, char** argv, int i) {
  constexpr std::string_view kOption = "--password";
  const std::string_view word = argv[i];
  if (word.starts_with("--password=")) return word.substr(kOption.size() + 1);
  return i > 1 && i < argc && argv[i - 1] == kOption ? word : std::string_view();
}

/// Turns off echo on a terminal while the object exists.
class EchoOff {
 public:
  explicit EchoOff(int fd) : fd_(fd) {
    if (::tcgetattr(fd_, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    is_off_ = ::tcsetattr(fd_, TCSAFLUSH, &silent) == 0;
  }
  ~EchoOff() {
    if (is_off_) ::tcsetattr(fd_, TCSAFLUSH, &before_);
  }
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;

 private:
  int fd_;
  termios before_{};
  bool is_off_ = false;
};

/// Waits for a key. Returns false after a signal. Signals are blocked outside of ppoll(), because a
/// signal just before ppoll() does not interrupt ppoll().
bool wait_for_key(int fd) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  pollfd terminal{.fd = fd, .events = POLLIN, .revents = 0};
  const bool has_come = Interruption::signal() != 0;
  const bool is_ready = !has_come && ::ppoll(&terminal, 1, nullptr, &before) == 1;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return is_ready;
}

}  // namespace

std::string login_of_caller() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : "admin";
}

std::string random_password() {
  constexpr std::string_view kAlphabet = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  std::string password;
  while (password.size() < 10) {
    unsigned char byte = 0;
    if (RAND_bytes(&byte, 1) != 1) throw std::runtime_error("cannot get random numbers");
    // Use only bytes below the largest multiple of the alphabet's size. Larger bytes would make
    // some letters more likely.
    if (byte < 256 / kAlphabet.size() * kAlphabet.size())
      password += kAlphabet[byte % kAlphabet.size()];
  }
  return password;
}

void hide_secrets(int argc, char** argv) {
  bool found = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view password = password_in(argv[i]);
    found = found || base::credentials_in(argv[i]).find(':') != std::string_view::npos;
    if (password.empty()) password = value_of_password(argc, argv, i);
    overwrite(argv[i], password);
    overwrite(argv[i], query_values_in(argv[i]));
  }
  if (!found) return;
  fmt::print(
      stderr,
      "quarry: warning: a password on the command line can be seen by others and stays in the "
      "shell's history; omit the password to be prompted for it, or use --password-file\n");
}

Result<std::string> password_from_file(const std::string& file) {
  std::string line;
  if (file == "-") {
    std::getline(std::cin, line);
  } else {
    std::ifstream in(file);
    if (!in) return fail_errno(file);
    std::getline(in, line);
  }
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty()) return fail(ErrorCode::kInvalid, file + ": the first line is empty");
  return line;
}

bool has_terminal() {
  return static_cast<bool>(base::Fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)));
}

Result<std::string> ask_for_password(const std::string& question) {
  const base::Fd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal) {
    return fail(ErrorCode::kInvalid,
                "cannot ask for the password without a terminal: use --password-file");
  }
  std::string line;
  {
    const EchoOff echo_off(terminal.get());
    (void)!::write(terminal.get(), question.data(), question.size());
    char byte = 0;
    while (wait_for_key(terminal.get()) && ::read(terminal.get(), &byte, 1) == 1 && byte != '\n') {
      line += byte;
    }
    // Discard an incomplete line, for example after a signal.
    if (byte != '\n') line.clear();
  }
  (void)!::write(terminal.get(), "\n", 1);
  if (line.empty()) return fail(ErrorCode::kInvalid, "no password given");
  return line;
}

std::string obscure(std::string_view password) {
  unsigned char salt = 0;
  RAND_bytes(&salt, 1);
  std::vector<unsigned char> bytes{salt};
  for (std::size_t i = 0; i < password.size(); ++i) {
    bytes.push_back(static_cast<unsigned char>(password[i]) ^ kMask[i % kMask.size()] ^ salt);
  }
  return base::to_hex(bytes);
}

std::string unobscure(std::string_view text) {
  const auto bytes = base::from_hex(text.substr(0, text.size() / 2 * 2));
  if (!bytes || bytes->empty()) return {};
  const auto salt = static_cast<unsigned char>(bytes->front());
  std::string password = bytes->substr(1);
  for (std::size_t i = 0; i < password.size(); ++i) {
    password[i] =
        static_cast<char>(static_cast<unsigned char>(password[i]) ^ kMask[i % kMask.size()] ^ salt);
  }
  return password;
}

}  // namespace quarry::app
