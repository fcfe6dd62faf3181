#include "quarry/courier/options.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <variant>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"

namespace quarry::courier {

namespace {

struct NamedType {
  DestinationType type;
  std::string_view name;
};
constexpr auto kTypes = std::to_array<NamedType>({
    {DestinationType::kWebhook, "webhook"},
    {DestinationType::kMail, "mail"},
    {DestinationType::kProgram, "program"},
    {DestinationType::kSyslog, "syslog"},
    {DestinationType::kJournald, "journald"},
    {DestinationType::kFile, "file"},
    {DestinationType::kLoki, "loki"},
    {DestinationType::kOpenSearch, "opensearch"},
    {DestinationType::kJsonLines, "json-lines"},
});

/// An option that destinations of TYPE require.
struct NeededWord {
  DestinationType type;
  std::string_view word;
  bool (*is_there)(const DestinationOptions&);
};
constexpr auto kNeeded = std::to_array<NeededWord>({
    {DestinationType::kWebhook, "url = http://… or https://…",
     [](const DestinationOptions& options) { return !options.url.empty(); }},
    {DestinationType::kMail, "from = ADDRESS",
     [](const DestinationOptions& options) { return !options.from.empty(); }},
    {DestinationType::kMail, "to = ADDRESS, … (or submitter)",
     [](const DestinationOptions& options) { return !options.to.empty(); }},
    {DestinationType::kProgram, "command = PROGRAM ARGUMENT…",
     [](const DestinationOptions& options) { return !options.command.empty(); }},
    {DestinationType::kFile, "path = FILE",
     [](const DestinationOptions& options) { return !options.path.empty(); }},
});

bool is_token(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kOthers.find(c) != std::string_view::npos;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// Removes the first word from TEXT and returns it. TEXT must not start with a blank.
Result<std::string> take_word(std::string_view& text) {
  std::string word;
  while (!text.empty() && !is_blank(text.front())) {
    const char quote = text.front();
    text.remove_prefix(1);
    if (quote != '"' && quote != '\'') {
      word += quote;
      continue;
    }
    for (;; text.remove_prefix(1)) {
      if (text.empty()) return fail(ErrorCode::kInvalid, "missing closing quotation mark");
      if (text.front() == quote) break;
      const bool is_escape = quote == '"' && text.size() > 1 && text.front() == '\\' &&
                             (text[1] == '"' || text[1] == '\\');
      if (is_escape) text.remove_prefix(1);
      word += text.front();
    }
    text.remove_prefix(1);
  }
  return word;
}

/// Returns whether TYPE sends log lines over HTTP.
bool is_http_log(DestinationType type) {
  return type == DestinationType::kLoki || type == DestinationType::kOpenSearch ||
         type == DestinationType::kJsonLines;
}

/// Checks that TAG can be the APP-NAME of a message (RFC 5424, section 6.2.5). Errors: kInvalid.
Result<void> check_tag(std::string_view tag) {
  constexpr std::size_t kMaxTag = 48;
  const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (!tag.empty() && tag.size() <= kMaxTag && std::ranges::all_of(tag, is_visible)) return {};
  return fail(ErrorCode::kInvalid, "tag must be 1 to {} visible ASCII characters without blanks",
              kMaxTag);
}

Result<void> check_log_destination(const DestinationOptions& options) {
  QUARRY_TRY(queue_options(options));
  if (options.type == DestinationType::kSyslog) {
    QUARRY_TRY(check_tag(options.tag));
    return check_syslog_url(options.url);
  }
  if (is_http_log(options.type)) return check_webhook_url(options.url);
  if (options.type != DestinationType::kFile) {
    return fail(ErrorCode::kInvalid,
                "logs = yes requires type = syslog, loki, opensearch, json-lines or file");
  }
  if (!options.path.empty()) return {};
  return fail(ErrorCode::kInvalid, "a destination of type file needs path = FILE");
}

/// Returns whether one of the patterns EVENTS covers TYPE. If EVENTS is empty, the pattern is "*".
bool covers(const std::vector<std::string>& events, std::string_view type) {
  if (events.empty()) return event::covers_type("*", type);
  return std::ranges::any_of(
      events, [&](const std::string& each) { return event::covers_type(each, type); });
}

/// Returns whether the directives `events` and `batch` of DESTINATION include EVENT.
bool is_wanted(const DestinationOptions& destination, const event::Event& event) {
  const bool is_covered = covers(destination.events, event::type_of(event));
  if (destination.batch == Batch::kNone) return is_covered;
  if (std::holds_alternative<event::Artifact>(event.record)) return false;
  const auto* push = std::get_if<event::Push>(&event.record);
  return is_covered ||
         (push != nullptr && std::ranges::any_of(push->kinds, [&](const std::string& kind) {
            return covers(destination.events, "artifact." + kind);
          }));
}

}  // namespace

std::string_view name_of(DestinationType type) {
  const auto at = std::ranges::find(kTypes, type, &NamedType::type);
  return at == kTypes.end() ? "" : at->name;
}

DestinationType destination_type_named(std::string_view name) {
  const auto at = std::ranges::find(kTypes, name, &NamedType::name);
  return at == kTypes.end() ? DestinationType::kNone : at->type;
}

Result<void> check_destination_name(std::string_view name) {
  const bool is_word = std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_';
  });
  if (name.empty() || name.size() > 64 || !is_word) {
    return fail(ErrorCode::kInvalid,
                "a destination name must consist of 1 to 64 of the characters A-Z a-z 0-9 - _");
  }
  if (name == kHooksName) {
    return fail(
        ErrorCode::kInvalid,
        "the name \"hooks\" is reserved for the built-in destination; see hooks in [courier]");
  }
  return {};
}

std::chrono::milliseconds DestinationOptions::delivery_timeout() const {
  if (timeout.count() > 0) return timeout;
  return type == DestinationType::kWebhook ? kWebhookTimeout : kOtherTimeout;
}

bool DestinationOptions::is_to_submitter() const {
  return to.size() == 1 && to.front() == kSubmitter;
}

Result<void> DestinationOptions::check() const {
  if (type == DestinationType::kNone) {
    return fail(ErrorCode::kInvalid,
                "a destination needs type = webhook, mail, program, syslog, journald or file, or "
                "with logs = yes: syslog, loki, opensearch, json-lines or file");
  }
  if (logs) return check_log_destination(*this);
  if (is_http_log(type)) {
    return fail(ErrorCode::kInvalid, "type = {} requires logs = yes", name_of(type));
  }
  if (!queue.empty()) {
    return fail(ErrorCode::kInvalid, "queue.{} requires logs = yes", queue.begin()->first);
  }
  for (const NeededWord& needed : kNeeded) {
    if (needed.type != type || needed.is_there(*this)) continue;
    return fail(ErrorCode::kInvalid, "a destination of type {} needs {}", name_of(type),
                needed.word);
  }
  if (type == DestinationType::kWebhook) QUARRY_TRY(check_webhook_url(url));
  if (type == DestinationType::kMail && !url.empty()) QUARRY_TRY(check_smtp_url(url));
  if (type != DestinationType::kWebhook && (format != Format::kJson || !template_file.empty())) {
    return fail(ErrorCode::kInvalid, "format and template require type = webhook");
  }
  if (is_to_submitter() && type != DestinationType::kMail) {
    return fail(ErrorCode::kInvalid, "to = submitter requires type = mail");
  }
  const bool is_of_change_sets =
      events.empty() || std::ranges::any_of(events, [](const auto& each) {
        return event::covers_type(each, "change-set");
      });
  if (is_to_submitter() && !is_of_change_sets) {
    return fail(ErrorCode::kInvalid, "to = submitter requires that events includes change-set");
  }
  if (user.empty() != password_file.empty()) {
    return fail(ErrorCode::kInvalid, "user and password_file must be set together");
  }
  if (retry_max_delay < retry_delay) {
    return fail(ErrorCode::kInvalid, "retry.max_delay is less than retry.delay");
  }
  return {};
}

std::string DestinationOptions::log_socket() const {
  if (!socket.empty()) return socket;
  return type == DestinationType::kJournald ? "/run/systemd/journal/socket" : "/dev/log";
}

bool is_for(const DestinationOptions& destination, const event::Event& event) {
  if (std::holds_alternative<event::Replay>(event.record) ||
      std::holds_alternative<event::Redeliver>(event.record)) {
    return false;
  }
  const bool is_hook = std::holds_alternative<event::Hook>(event.record);
  const bool is_hooks = destination.type == DestinationType::kHooks;
  if (is_hook || is_hooks) return is_hook && is_hooks;
  const bool is_webhook = std::holds_alternative<event::RepositoryWebhook>(event.record);
  const bool is_webhooks = destination.type == DestinationType::kRepositoryWebhooks;
  if (is_webhook || is_webhooks) return is_webhook && is_webhooks;
  const bool is_notice = std::holds_alternative<event::Notice>(event.record);
  // A test event is only for the destination that it names. Filters do not apply to test events.
  if (const auto* test = std::get_if<event::Test>(&event.record)) {
    return test->destination == destination.name;
  }
  if (is_notice != destination.is_to_submitter()) return false;
  const auto any_covers = [](const std::vector<std::string>& patterns, std::string_view name) {
    return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& each) {
             return event::covers(each, name);
           });
  };
  const auto& head = event.head;
  return (is_notice || is_wanted(destination, event)) &&
         any_covers(destination.repositories, head.repository) &&
         (any_covers(destination.projects, head.project_code) ||
          any_covers(destination.projects, head.project_name));
}

CourierConfig hooks_of_pool(CourierOptions options) {
  CourierConfig config{.options = std::move(options),
                       .destinations = {{.name = kHooksName,
                                         .type = DestinationType::kHooks,
                                         // Hooks that will be retried must not delay other hooks.
                                         .in_order = false,
                                         .retry_delay = std::chrono::seconds(10)}}};
  if (config.options.repository_webhooks) {
    config.destinations.push_back(
        {.name = kWebhooksName,
         .type = DestinationType::kRepositoryWebhooks,
         .in_order = false,
         .max_attempts = 0,
         // Use a large window, which the events of a receiver that is down do not fill.
         .window = 65536});
  }
  return config;
}

Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    if (text.empty()) break;
    QUARRY_TRY_ASSIGN(auto word, take_word(text));
    words.push_back(std::move(word));
  }
  if (words.empty()) return fail(ErrorCode::kInvalid, "the command is empty");
  return words;
}

std::string join_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_of(" \t\"'\\") == std::string::npos) {
      text += word;
      continue;
    }
    text += '"';
    for (const char c : word) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  return text;
}

Result<void> check_header(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool is_header = colon != std::string_view::npos && !name.empty() &&
                         std::ranges::all_of(name, is_token) &&
                         std::ranges::none_of(text, [](char c) {
                           return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
                         });
  if (!is_header) {
    return fail(ErrorCode::kInvalid, "must be a header of the form Name: value");
  }
  constexpr auto kOurs = std::to_array<std::string_view>(
      {"Content-Type", "Content-Length", "Transfer-Encoding", "Host", "Connection",
       "X-Quarry-Event", "X-Quarry-Delivery", "X-Quarry-Signature", "X-Hub-Signature-256",
       "X-Gitea-Signature"});
  const bool is_ours = std::ranges::any_of(kOurs, [&](std::string_view ours) {
    return ours.size() == name.size() && ::strncasecmp(ours.data(), name.data(), name.size()) == 0;
  });
  if (is_ours) return fail(ErrorCode::kInvalid, "the courier sets {} itself", name);
  return {};
}

std::string origin_of(const std::string& url) {
  const std::string shown = base::without_credentials(url);
  const std::size_t scheme = shown.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  return base::printable(shown.substr(0, shown.find_first_of("/?#", host)));
}

Result<void> check_webhook_url(std::string_view url) {
  const bool is_plain = std::ranges::none_of(
      url, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
  if (is_plain && (url.starts_with("http://") || url.starts_with("https://"))) return {};
  return fail(ErrorCode::kInvalid, "url must be an http:// or https:// URL without spaces");
}

Result<void> check_syslog_url(std::string_view url) {
  const std::size_t begin = url.find("://");
  const std::string_view scheme = url.substr(0, begin);
  const std::string_view address = begin == url.npos ? "" : url.substr(begin + 3);
  const bool is_plain = std::ranges::none_of(address, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '/' || c == '@' || c == '?' || c == '#';
  });
  if ((scheme == "syslog" || scheme == "syslog+tls") && !address.empty() && is_plain) return {};
  return fail(ErrorCode::kInvalid, "url must be syslog://HOST[:PORT] or syslog+tls://HOST[:PORT]");
}

Result<spool::QueueOptions> queue_options(const DestinationOptions& options) {
  // The defaults work for a receiver that is slow, or unavailable for hours.
  spool::QueueOptions queue;
  queue.max_disk_space = std::uint64_t{1} << 30;
  queue.checkpoint_interval = 1000;
  queue.save_on_shutdown = true;
  queue.dequeue_batch_size = 512;
  for (const auto& [name, value] : options.queue) {
    QUARRY_TRY(spool::set_parameter(queue, name, value));
  }
  QUARRY_TRY(spool::complete(queue));
  return queue;
}

Result<void> check_smtp_url(std::string_view url) {
  if (!url.starts_with("smtp://") && !url.starts_with("smtps://")) {
    return fail(ErrorCode::kInvalid, "url must be smtp://HOST[:PORT] or smtps://HOST[:PORT]");
  }
  if (!base::credentials_in(url).empty()) {
    return fail(ErrorCode::kInvalid,
                "the URL must not contain a login; use user and password_file");
  }
  return {};
}

}  // namespace quarry::courier
