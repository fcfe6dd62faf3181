#include "remote.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "interruption.h"
#include "password.h"

namespace quarry::app {
namespace {

using sync::ClientFigures;
using transport::RemoteUrl;

/// Seconds. Clocks that are this far apart, and a reply that is so long on its way, are usual.
constexpr std::int64_t kMostSkew = 10;
/// How often somebody at a terminal may try a password.
constexpr int kMostTries = 3;

/// One line on a terminal that is written over and over; elsewhere nothing but the end.
class Counter {
 public:
  explicit Counter(bool quiet)
      : is_quiet_(quiet), is_live_(!quiet && ::isatty(STDERR_FILENO) == 1) {}
  ~Counter() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void show(const ClientFigures& figures) {
    if (!is_live_) return;
    is_shown_ = true;
    fmt::print(stderr, "\r\x1b[K{}", line(figures));
    std::fflush(stderr);
  }
  void finish(const ClientFigures& figures) {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
    is_shown_ = false;
    if (!is_quiet_) fmt::print("{}\n", line(figures));
  }

 private:
  static std::string line(const ClientFigures& figures) {
    return fmt::format(
        "round trips: {}  artifacts sent: {}  received: {}  bytes sent: {}  received: {}",
        figures.round_trips, figures.artifacts_sent, figures.artifacts_received, figures.bytes_sent,
        figures.bytes_received);
  }

  bool is_quiet_;
  bool is_live_;
  bool is_shown_ = false;
};

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

void tell(sync::ClientSession& session) {
  for (const std::string& message : session.take_messages()) {
    fmt::print(stderr, "quarry: the server says: {}\n", message);
  }
}

/// SKEW: seconds that the server's clock is ahead.
void warn_of_clocks(std::int64_t skew) {
  if (std::abs(skew) <= kMostSkew) return;
  fmt::print(stderr,
             "quarry: the server's clock is {} s {} of this machine's: the dates of what is made "
             "on one of them will be wrong\n",
             std::abs(skew), skew > 0 ? "ahead" : "behind");
}

std::string question_for(const RemoteUrl& url) {
  return fmt::format("password for {} at {}: ", url.user, url.host);
}

/// What the command line says; otherwise what the repository does, and then OpenSSL's variables, as
/// with fossil.
void choose_authorities(transport::TransportOptions& options, const RemoteArguments& arguments,
                        const std::string& setting) {
  options.ca_file = arguments.ca_file;
  if (!options.ca_file.empty()) return;
  std::error_code code;
  if (std::filesystem::is_directory(setting, code)) {
    options.ca_folder = setting;
  } else if (!setting.empty()) {
    options.ca_file = setting;
  } else {
    const char* const file = std::getenv("SSL_CERT_FILE");
    const char* const folder = std::getenv("SSL_CERT_DIR");
    if (file != nullptr) options.ca_file = file;
    if (folder != nullptr) options.ca_folder = folder;
  }
}

transport::TransportOptions transport_options(const RemoteArguments& arguments,
                                              repository::Repository& repository) {
  transport::TransportOptions options;
  choose_authorities(options, arguments, repository.settings().get("ssl-ca-location").value_or(""));
  const std::string setting = repository.settings().get("ssh-command").value_or("");
  const std::string& chosen = arguments.ssh_command.empty() ? setting : arguments.ssh_command;
  if (auto words = split_words(chosen); !words.empty()) options.ssh_command = std::move(words);
  options.is_interrupted = [] { return Interruption::signal() != 0; };
  // This very program, so that nothing else has to be there.
  std::error_code code;
  if (auto self = std::filesystem::read_symlink("/proc/self/exe", code); !code) {
    options.local_program = self;
  }
  return options;
}

struct Conversation {
  base::Result<void> spoken;
  std::optional<std::string> moved_to;
  bool login_failed = false;
};

Conversation converse_once(repository::Repository& repository, transport::Transport& transport,
                           const RemoteArguments& arguments, sync::ClientOptions options) {
  sync::ClientSession session(repository, std::move(options));
  Counter counter(arguments.quiet);
  Conversation done;
  done.spoken = transport::converse(session, transport, [&] {
    repository.keep_log_short();
    tell(session);
    counter.show(session.figures());
  });
  tell(session);
  done.login_failed = session.login_failed();
  if (!done.spoken) return done;
  counter.finish(session.figures());
  warn_of_clocks(session.figures().clock_skew);
  done.moved_to = transport.moved_to();
  return done;
}

}  // namespace

base::Result<RemoteUrl> remote_url(const std::string& url) {
  QUARRY_TRY_ASSIGN(RemoteUrl parsed, RemoteUrl::parse(url));
  if (parsed.scheme == RemoteUrl::Scheme::kFile) {
    std::error_code code;
    const auto absolute = std::filesystem::absolute(parsed.path, code);
    if (!code) parsed.path = absolute.lexically_normal();
  }
  return parsed;
}

base::Result<void> complete_password(RemoteUrl& url, const RemoteArguments& arguments,
                                     const std::string& kept) {
  // Who reaches a file, or a machine by ssh, has all rights there.
  if (!url.is_http() || url.user.empty()) return {};
  if (!arguments.password_file.empty()) {
    QUARRY_TRY_ASSIGN(url.password, password_from_file(arguments.password_file));
  }
  if (url.password.empty()) url.password = kept;
  if (!url.password.empty() || url.user == "anonymous" || url.user == "nobody") return {};
  QUARRY_TRY_ASSIGN(url.password, ask_for_password(question_for(url)));
  return {};
}

base::Result<RemoteUrl> talk(repository::Repository& repository, RemoteUrl url,
                             const RemoteArguments& arguments, sync::ClientOptions options) {
  const bool logs_in = url.is_http() && url.user != "anonymous" && url.user != "nobody";
  options.with_private = arguments.with_private;
  options.with_unversioned =
      arguments.with_unversioned || repository.settings().get_bool("uv-sync", false);
  const auto words = transport_options(arguments, repository);
  for (int tries = 1;; ++tries) {
    if (logs_in) {
      options.user = url.user;
      options.password = url.password;
    }
    QUARRY_TRY_ASSIGN(const auto transport, transport::Transport::make(url, words));
    const Conversation done = converse_once(repository, *transport, arguments, options);
    if (done.spoken && !done.moved_to) return url;
    if (done.spoken) {
      fmt::print(stderr, "quarry: the repository has moved to {}\n", *done.moved_to);
      return remote_url(*done.moved_to);
    }
    if (!done.login_failed || tries == kMostTries || !arguments.password_file.empty()) {
      return std::unexpected(done.spoken.error());
    }
    // Without a terminal what the server said is the thing to know.
    if (!has_terminal()) return std::unexpected(done.spoken.error());
    fmt::print(stderr, "quarry: {}\n", done.spoken.error().message);
    QUARRY_TRY_ASSIGN(url.password, ask_for_password(question_for(url)));
  }
}

base::Result<void> remember(repository::Receipt& receipt, const RemoteUrl& url,
                            const RemoteArguments& arguments, const RemoteKeys& keys) {
  if (arguments.once) return {};
  QUARRY_TRY(receipt.set_config(keys.url, url.without_password()));
  if (arguments.save_password && !url.password.empty()) {
    return receipt.set_config(keys.password, obscure(url.password));
  }
  return receipt.set_config(keys.password, std::nullopt);
}

}  // namespace quarry::app
