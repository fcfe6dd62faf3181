// What the configuration says of the courier and of each destination: [courier], [destination NAME]
// of quarry.conf(5). Filled in by the programs' configuration, read by the courier.
#pragma once

#include <sys/types.h>
#include <syslog.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/log_options.h"
#include "quarry/base/result.h"
#include "quarry/courier/smtp.h"

namespace quarry::courier {

enum class DestinationType : std::uint8_t {
  kNone,  // was not said
  kWebhook,
  kMail,
  kProgram,
  kSyslog,
  kJournald,
  kFile,
  kHooks,  // the commands that repositories have; never of the configuration
};

/// The stream in the courier's folder, and the subscription of the hooks.
inline constexpr const char* kStreamName = "events";
inline constexpr const char* kHooksName = "hooks";

/// As an address: see DestinationOptions::is_to_submitter().
inline constexpr std::string_view kSubmitter = "submitter";

struct DestinationOptions {
  std::string name;
  DestinationType type = DestinationType::kNone;

  /// Which events: types, or beginnings of some with a *. None: all but those of tests and hooks.
  std::vector<std::string> events = {};
  /// Of which projects (code or name), and repositories (name, or its beginning with a *); none: all.
  std::vector<std::string> projects = {};
  std::vector<std::string> repositories = {};

  bool in_order = true;
  /// About five days with the delays below; 0: never give up.
  std::uint32_t max_attempts = 1500;
  std::chrono::milliseconds retry_delay{1000};
  std::chrono::milliseconds retry_max_delay{300'000};
  /// Of one delivery; 0: kWebhookTimeout or kOtherTimeout.
  std::chrono::milliseconds timeout{0};
  std::size_t window = 1000;

  std::string url = {};  // webhook, mail
  std::string secret_file = {};
  std::vector<std::string> headers = {};
  std::string ca_file = {};
  bool allow_redirects = false;

  std::string from = {};             // mail
  std::vector<std::string> to = {};  // or kSubmitter alone
  StartTls start_tls = StartTls::kIfOffered;
  std::string user = {};
  std::string password_file = {};
  std::string sendmail = {};  // its path: rather than SMTP

  std::vector<std::string> command = {};  // program

  int facility = LOG_DAEMON;  // syslog, journald
  std::string tag = "quarry";
  std::string socket = {};  // "": the usual one

  std::string path = {};  // file

  /// `timeout`, or what it is by default.
  std::chrono::milliseconds delivery_timeout() const;
  /// Whether its mails go to who submitted a change set that did not land, and to nobody else.
  bool is_to_submitter() const;
  /// What is missing, or does not belong together. Errors: kInvalid.
  base::Result<void> check() const;
};
inline constexpr std::chrono::milliseconds kWebhookTimeout{30'000};
inline constexpr std::chrono::milliseconds kOtherTimeout{300'000};

struct CourierOptions {
  std::string socket = "/run/quarry/courier.sock";
  std::string spool_directory = "/var/lib/quarry/courier";
  std::string user = {};  // whom it becomes where it is started as root
  std::string group = {};
  std::string listen_owner = {};
  std::string listen_group = {};
  mode_t listen_mode = 0600;
  std::uint64_t max_disk_space = 0;  // bytes of what waits; 0: no bound
  /// What %F of a hook stands for, where its event does not say; looked up in PATH.
  std::string fossil = "fossil";
  bool hooks = true;
  std::chrono::milliseconds hook_timeout{300'000};
  base::LogOptions log;  // error_log
};

/// "webhook" and so on.
std::string_view name_of(DestinationType type);
/// The type of the configuration called NAME; kNone: there is none.
DestinationType destination_type_named(std::string_view name);
/// Errors: kInvalid, NAME cannot be that of a destination.
base::Result<void> check_destination_name(std::string_view name);

/// The words of TEXT: separated by blanks, those with blanks in "" or '' ; in "" a \ takes what is
/// special from a " or \ behind it. There are no variables, patterns or other things of a shell.
/// Errors: kInvalid, a quotation mark has no end, or there is no word.
base::Result<std::vector<std::string>> split_command(std::string_view text);
/// What split_command() reads as WORDS.
std::string join_command(const std::vector<std::string>& words);
/// Errors: kInvalid, TEXT is no header "Name: value", or one that is ours.
base::Result<void> check_header(std::string_view text);
/// Errors: kInvalid, URL is no http:// or https:// one.
base::Result<void> check_webhook_url(std::string_view url);

}  // namespace quarry::courier
