#include "webhook_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "common/json.h"
#include "common/owner.h"
#include "common/report.h"
#include "common/table.h"
#include "quarry/base/escape.h"
#include "quarry/courier/repository_webhook.h"
#include "quarry/courier/webhook_test.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/repository.h"
#include "remote/password.h"
#include "server.h"

namespace quarry::app {
namespace {

using courier::RepositoryWebhook;
using nlohmann::json;
using repository::Repository;

/// A row of `config`, with the reason if it is not a valid webhook.
struct WebhookEntry {
  RepositoryWebhook webhook;
  std::string error;
};

Result<std::vector<WebhookEntry>> entries_in(Repository& repository) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  std::vector<WebhookEntry> entries;
  for (const std::string& row : repository.settings().names_with(courier::kWebhookRow)) {
    const std::string name = row.substr(std::string_view(courier::kWebhookRow).size());
    auto webhook =
        courier::parse_repository_webhook(name, repository.settings().get(row).value_or(""));
    std::string error = webhook ? "" : webhook.error().message;
    if (entries.size() >= courier::kMaxRepositoryWebhooks) {
      error = fmt::format("only the first {} webhooks are used", courier::kMaxRepositoryWebhooks);
    }
    entries.push_back(
        {webhook ? std::move(*webhook) : RepositoryWebhook{.name = name}, std::move(error)});
  }
  return entries;
}

Result<void> write_row(Repository& repository, const std::string& name,
                       std::optional<std::string> text) {
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive());
  QUARRY_TRY(receipt.set_config(courier::kWebhookRow + name, std::move(text)));
  return receipt.commit();
}

/// Returns WEBHOOK without its secrets: the path of the URL can be one, too.
json json_of(const WebhookEntry& entry) {
  const auto& [webhook, error] = entry;
  json shown = {{"name", webhook.name},
                {"url", courier::origin_of(webhook.url)},
                {"events", webhook.events},
                {"format", webhook.format},
                {"signed", !webhook.secret.empty()}};
  if (!error.empty()) shown["error"] = error;
  return shown;
}

Result<WebhookEntry> find_entry(Repository& repository, const std::string& name) {
  QUARRY_TRY_ASSIGN(auto entries, entries_in(repository));
  for (WebhookEntry& each : entries) {
    if (each.webhook.name == name) return std::move(each);
  }
  return fail(ErrorCode::kNotFound, "webhook {} does not exist", base::printable(name));
}

void print(const WebhookArguments& arguments, const WebhookEntry& entry, const std::string& text) {
  arguments.as_json ? print_json(json_of(entry)) : fmt::print("{}\n", text);
}

}  // namespace

Result<void> run_webhook_list(const WebhookArguments& arguments) {
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY_ASSIGN(const auto repository,
                    Repository::open(arguments.file, {.is_read_only = true}));
  QUARRY_TRY_ASSIGN(const auto entries, entries_in(*repository));
  if (arguments.as_json) {
    json all = json::array();
    for (const WebhookEntry& each : entries) all.push_back(json_of(each));
    print_json(all);
    return {};
  }
  Table table({"NAME", "RECEIVER", "FORMAT", "SIGNED", "EVENTS", "ERROR"});
  for (const auto& [webhook, error] : entries) {
    table.add({webhook.name, courier::origin_of(webhook.url), webhook.format,
               webhook.secret.empty() ? "no" : "yes",
               webhook.events.empty() ? "push" : fmt::format("{}", fmt::join(webhook.events, ", ")),
               error});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
  return {};
}

Result<void> run_webhook_add(const WebhookArguments& arguments) {
  RepositoryWebhook webhook{.name = arguments.name,
                            .url = arguments.url,
                            .events = arguments.events,
                            .format = arguments.format};
  if (webhook.url == "-") {
    QUARRY_TRY_ASSIGN(webhook.url, password_from_file("-"));
  }
  if (!arguments.secret_file.empty()) {
    QUARRY_TRY_ASSIGN(webhook.secret, password_from_file(arguments.secret_file));
  }
  QUARRY_TRY(check(webhook));
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY_ASSIGN(const auto repository, Repository::open(arguments.file, {}));
  QUARRY_TRY_ASSIGN(const auto entries, entries_in(*repository));
  const bool is_new = !find_entry(*repository, webhook.name);
  if (is_new && entries.size() >= courier::kMaxRepositoryWebhooks) {
    return fail(ErrorCode::kLimit, "{} already has {} webhooks", arguments.file, entries.size());
  }
  QUARRY_TRY(write_row(*repository, webhook.name, row_of(webhook)));
  print(
      arguments, {webhook, ""},
      fmt::format("{}: {} webhook {}", arguments.file, is_new ? "added" : "changed", webhook.name));
  return {};
}

Result<void> run_webhook_remove(const WebhookArguments& arguments) {
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY_ASSIGN(const auto repository, Repository::open(arguments.file, {}));
  QUARRY_TRY_ASSIGN(const WebhookEntry entry, find_entry(*repository, arguments.name));
  QUARRY_TRY(write_row(*repository, arguments.name, std::nullopt));
  print(arguments, entry,
        fmt::format("{}: removed webhook {}", arguments.file, base::printable(arguments.name)));
  return {};
}

Result<void> run_webhook_test(const WebhookArguments& arguments) {
  std::vector<std::string> allow = arguments.allow;
  std::error_code missing;
  const auto file = std::filesystem::canonical(arguments.file, missing);
  if (const auto server = server_of(arguments.config, file); !server) {
    report(server.error().message + "; only --allow is used");
  } else if (server->pool) {
    std::ranges::copy(server->pool->webhooks_allow, std::back_inserter(allow));
  }
  QUARRY_TRY_ASSIGN(const auto rules, courier::AddressRules::parse(allow));
  QUARRY_TRY(act_as_owner_of(arguments.file));
  QUARRY_TRY_ASSIGN(const auto repository,
                    Repository::open(arguments.file, {.is_read_only = true}));
  QUARRY_TRY_ASSIGN(const WebhookEntry entry, find_entry(*repository, arguments.name));
  if (!entry.error.empty()) {
    return fail(ErrorCode::kInvalid, "webhook {}: {}", base::printable(arguments.name),
                entry.error);
  }
  QUARRY_TRY_ASSIGN(const courier::WebhookResponse response, test_webhook(entry.webhook, rules));
  if (arguments.as_json) {
    print_json({{"status", response.status}, {"response", response.beginning}});
  } else {
    fmt::print("{} answered with status {}: {}\n", courier::origin_of(entry.webhook.url),
               response.status, base::printable(response.beginning));
  }
  return {};
}

void add_webhook_commands(CLI::App& webhook, Run& run) {
  webhook.require_subcommand(1);
  const auto add = [&](const char* name, const char* description,
                       Result<void> (*action)(const WebhookArguments&)) {
    CLI::App* command = webhook.add_subcommand(name, description);
    auto& arguments = arguments_of(*command, run, action);
    command->add_option("REPO", arguments.file, "Repository file")->required();
    command->add_flag("--json", arguments.as_json, "Print JSON");
    if (action != run_webhook_list) {
      command->add_option("NAME", arguments.name, "Name of the webhook")->required();
    }
    return std::pair<CLI::App*, WebhookArguments&>(command, arguments);
  };
  add("list", "List the webhooks", run_webhook_list);
  {
    auto [command, arguments] = add("add", "Add or change a webhook", run_webhook_add);
    command->add_option("URL", arguments.url, "URL of the receiver; -: read from standard input")
        ->required();
    command
        ->add_option("--events", arguments.events,
                     "Types of events, separated by commas: push, or types of artifacts in a push "
                     "(default: all pushes)")
        ->delimiter(',');
    command
        ->add_option("--format", arguments.format,
                     "Form of the requests: json, slack, discord, mattermost or teams")
        ->capture_default_str();
    command->add_option("--secret-file", arguments.secret_file,
                        "File whose first line is the key for signing requests");
  }
  add("remove", "Remove a webhook", run_webhook_remove);
  {
    auto [command, arguments] =
        add("test", "Send an event to a webhook, and show the response", run_webhook_test);
    command
        ->add_option("--allow", arguments.allow,
                     "Addresses, networks and names of receivers that are allowed although they "
                     "are not public, separated by commas, in addition to those of the pool")
        ->delimiter(',');
    command
        ->add_option("-c,--config", arguments.config,
                     "Configuration of the server whose pool serves REPO")
        ->capture_default_str();
  }
}

}  // namespace quarry::app
