// The options of the courier and its destinations: sections [courier] and [destination NAME] of
// quarry.conf(5).
#pragma once

#include <sys/types.h>
#include <syslog.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/log_options.h"
#include "quarry/base/result.h"
#include "quarry/courier/smtp.h"
#include "quarry/event/event.h"
#include "quarry/spool/options.h"

namespace quarry::courier {

enum class DestinationType : std::uint8_t {
  kNone,  // not set
  kWebhook,
  kMail,
  kProgram,
  kSyslog,
  kJournald,
  kFile,
  kLoki,  // only with `logs`, like the next two
  kOpenSearch,
  kJsonLines,
  // Hooks and webhooks that repositories contain; cannot be configured, see hooks_of_pool().
  kHooks,
  kRepositoryWebhooks,
};

/// Whether the artifacts of a push are delivered one by one, or only as a part of the push.
enum class Batch : std::uint8_t { kNone, kPush };

/// The form of a webhook's request.
enum class Format : std::uint8_t { kJson, kSlack, kDiscord, kMattermost, kTeams };
inline constexpr auto kFormats =
    std::to_array<std::pair<std::string_view, Format>>({{"json", Format::kJson},
                                                        {"slack", Format::kSlack},
                                                        {"discord", Format::kDiscord},
                                                        {"mattermost", Format::kMattermost},
                                                        {"teams", Format::kTeams}});

/// Names of the stream in a courier's directory, and of the subscriptions for hooks and webhooks of
/// repositories.
inline constexpr const char* kStreamName = "events";
inline constexpr const char* kHooksName = "hooks";
inline constexpr const char* kWebhooksName = "webhooks";

/// The value in `to` that means the submitter's address; see DestinationOptions::is_to_submitter().
inline constexpr std::string_view kSubmitter = "submitter";

struct DestinationOptions {
  std::string name;
  DestinationType type = DestinationType::kNone;

  /// Types of the events to deliver. A type can end in *, which stands for any characters. An empty
  /// list means *. The type `security` is delivered only if the list contains it.
  std::vector<std::string> events = {};
  /// kPush: instead of the events about artifacts, deliver each push that `events` covers, or that
  /// contains an artifact whose type `events` covers.
  Batch batch = Batch::kNone;
  /// Projects (code or name) and repositories (name) whose events are delivered. Each entry can end
  /// in *. An empty list matches everything.
  std::vector<std::string> projects = {};
  std::vector<std::string> repositories = {};

  bool in_order = true;
  /// Limit on delivery attempts; 0: no limit. With the default delays below, 1500 attempts take
  /// about five days.
  std::uint32_t max_attempts = 1500;
  std::chrono::milliseconds retry_delay{1000};
  std::chrono::milliseconds retry_max_delay{300'000};
  /// Timeout of a delivery; 0: kWebhookTimeout or kOtherTimeout.
  std::chrono::milliseconds timeout{0};
  std::size_t window = 1000;

  std::string url = {};  // for webhook and mail
  std::string secret_file = {};
  std::vector<std::string> headers = {};
  std::string ca_file = {};
  bool allow_redirects = false;
  Format format = Format::kJson;
  /// File with a template of the body (body_template.h). If it is set, `format` determines only how
  /// values are escaped.
  std::string template_file = {};

  std::string from = {};             // for mail
  std::vector<std::string> to = {};  // addresses, or only kSubmitter
  StartTls start_tls = StartTls::kIfOffered;
  std::string user = {};
  std::string password_file = {};
  std::string sendmail = {};  // path of a sendmail program that is used instead of SMTP

  std::vector<std::string> command = {};  // for program

  int facility = LOG_DAEMON;  // for syslog and journald
  std::string tag = "quarry";
  std::string socket = {};  // "": the default path, see log_socket()

  std::string path = {};  // for file

  /// Whether the destination gets lines of logs instead of events.
  bool logs = false;
  /// The parameters queue.* of the queue of lines, without "queue.".
  std::map<std::string, std::string> queue = {};

  /// Returns `timeout` or, if that is 0, the default for this type.
  std::chrono::milliseconds delivery_timeout() const;
  /// For syslog and journald: returns the path of the socket.
  std::string log_socket() const;
  /// Returns whether emails go only to the submitters of change sets that did not land.
  bool is_to_submitter() const;
  /// Checks for missing options and invalid combinations. Errors: kInvalid.
  Result<void> check() const;
};
inline constexpr std::chrono::milliseconds kWebhookTimeout{30'000};
inline constexpr std::chrono::milliseconds kOtherTimeout{300'000};

struct CourierOptions {
  std::string socket = "/run/quarry/courier.sock";
  std::string spool_directory = "/var/lib/quarry/courier";
  std::string user = {};  // user to run as, if started as root
  std::string group = {};
  std::string listen_owner = {};
  std::string listen_group = {};
  mode_t listen_mode = 0600;
  std::uint64_t max_disk_space = 0;  // limit in bytes for stored events; 0: unlimited
  /// The program that replaces %F in a hook, looked up in PATH. The event of a hook can name
  /// another program.
  std::string fossil = "fossil";
  bool hooks = true;  // whether each pool has a courier for its hooks
  std::chrono::milliseconds hook_timeout{300'000};
  /// Whether to deliver to the webhooks that repositories contain, and the addresses that these
  /// webhooks can use in addition to public ones (entries of AddressRules).
  bool repository_webhooks = false;
  std::vector<std::string> webhooks_allow = {};
  base::LogOptions log;  // error_log
};

struct CourierConfig {
  CourierOptions options;
  std::vector<DestinationOptions> destinations;
  std::vector<DestinationOptions> log_destinations = {};  // destinations with `logs`
};

/// Returns the options of the queue for OPTIONS, a destination with `logs`. The caller sets the
/// files of the queue. Errors: kInvalid.
Result<spool::QueueOptions> queue_options(const DestinationOptions& options);

/// Returns the configuration of a courier that only runs hooks and, if OPTIONS.repository_webhooks
/// is set, delivers to the webhooks of repositories. Each pool has such a courier, which runs as
/// the pool's user. A hook is a command from a repository, so it must not run with the rights of
/// another pool.
CourierConfig hooks_of_pool(CourierOptions options);

/// Returns the type's name in the configuration, such as "webhook".
std::string_view name_of(DestinationType type);
/// Returns the type called NAME in the configuration, or kNone.
DestinationType destination_type_named(std::string_view name);
/// Checks that NAME is a valid destination name. Errors: kInvalid.
Result<void> check_destination_name(std::string_view name);

bool is_for(const DestinationOptions& destination, const event::Event& event);

/// Splits TEXT into words at blanks. Words with blanks can be quoted by "" or ''. Inside "", a
/// backslash escapes " and \. Variables, patterns and other shell syntax are not supported. Errors:
/// kInvalid (TEXT does not contain a word, or a quotation mark is not closed).
Result<std::vector<std::string>> split_command(std::string_view text);
/// Joins WORDS into a text that split_command() splits into the same words.
std::string join_command(const std::vector<std::string>& words);
/// Checks that TEXT is a header "Name: value" and not one of the headers that the courier sets.
/// Errors: kInvalid.
Result<void> check_header(std::string_view text);
/// Checks that URL is syslog://HOST[:PORT] or syslog+tls://HOST[:PORT]. Errors: kInvalid.
Result<void> check_syslog_url(std::string_view url);
/// Returns the part of URL that is safe to show, scheme, host and port. The rest might contain a
/// secret.
std::string origin_of(const std::string& url);
/// Checks that URL is an http:// or https:// URL. Errors: kInvalid.
Result<void> check_webhook_url(std::string_view url);

}  // namespace quarry::courier
