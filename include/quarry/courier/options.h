// The options of the courier and its destinations: sections [courier] and [destination NAME] of
// quarry.conf(5). The programs' configuration fills them in, the courier reads them.
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
  kNone,  // not set
  kWebhook,
  kMail,
  kProgram,
  kSyslog,
  kJournald,
  kFile,
  kHooks,  // the hooks stored in repositories; cannot be configured
};

/// The stream in the courier's directory, and the subscription that runs hooks.
inline constexpr const char* kStreamName = "events";
inline constexpr const char* kHooksName = "hooks";

/// Stands for an address in `to`; see DestinationOptions::is_to_submitter().
inline constexpr std::string_view kSubmitter = "submitter";

struct DestinationOptions {
  std::string name;
  DestinationType type = DestinationType::kNone;

  /// Event types to deliver; a trailing * matches any rest. Empty: all except tests and hooks.
  std::vector<std::string> events = {};
  /// Projects (code or name) and repositories (name, with an optional trailing *). Empty: all.
  std::vector<std::string> projects = {};
  std::vector<std::string> repositories = {};

  bool in_order = true;
  /// The default lasts about five days with the delays below; 0: never give up.
  std::uint32_t max_attempts = 1500;
  std::chrono::milliseconds retry_delay{1000};
  std::chrono::milliseconds retry_max_delay{300'000};
  /// For one delivery; 0: kWebhookTimeout or kOtherTimeout.
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
  std::string sendmail = {};  // path of the program; replaces SMTP

  std::vector<std::string> command = {};  // program

  int facility = LOG_DAEMON;  // syslog, journald
  std::string tag = "quarry";
  std::string socket = {};  // "": the default path

  std::string path = {};  // file

  /// `timeout`, or the default for this type.
  std::chrono::milliseconds delivery_timeout() const;
  /// Whether its mails go only to the submitters of change sets that did not land.
  bool is_to_submitter() const;
  /// Checks for missing options and invalid combinations. Errors: kInvalid.
  base::Result<void> check() const;
};
inline constexpr std::chrono::milliseconds kWebhookTimeout{30'000};
inline constexpr std::chrono::milliseconds kOtherTimeout{300'000};

struct CourierOptions {
  std::string socket = "/run/quarry/courier.sock";
  std::string spool_directory = "/var/lib/quarry/courier";
  std::string user = {};  // to switch to when started as root
  std::string group = {};
  std::string listen_owner = {};
  std::string listen_group = {};
  mode_t listen_mode = 0600;
  std::uint64_t max_disk_space = 0;  // bytes of waiting events; 0: unlimited
  /// What %F in a hook stands for unless its event says otherwise; looked up in PATH.
  std::string fossil = "fossil";
  bool hooks = true;
  std::chrono::milliseconds hook_timeout{300'000};
  base::LogOptions log;  // error_log
};

/// The complete configuration of a courier.
struct CourierConfig {
  CourierOptions options;
  std::vector<DestinationOptions> destinations;
};

/// The type's name in the configuration: "webhook" and so on.
std::string_view name_of(DestinationType type);
/// The type called NAME in the configuration, or kNone.
DestinationType destination_type_named(std::string_view name);
/// Errors: kInvalid (NAME is not a valid destination name).
base::Result<void> check_destination_name(std::string_view name);

/// Splits TEXT into words at blanks. "" and '' quote words that contain blanks; inside "" a \ before
/// " or \ stands for that character. No variables, patterns or other shell syntax. Errors: kInvalid
/// (a quotation mark is not closed, or there is no word).
base::Result<std::vector<std::string>> split_command(std::string_view text);
/// The inverse of split_command().
std::string join_command(const std::vector<std::string>& words);
/// Errors: kInvalid (TEXT is not a header "Name: value", or is a header that the courier sets).
base::Result<void> check_header(std::string_view text);
/// Errors: kInvalid (URL is not an http:// or https:// URL).
base::Result<void> check_webhook_url(std::string_view url);

}  // namespace quarry::courier
