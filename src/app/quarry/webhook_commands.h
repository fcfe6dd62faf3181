// The `quarry webhook` commands, which list and change the webhooks of a repository.
#pragma once

#include <string>
#include <vector>

#include "common/command_line.h"
#include "quarry/base/result.h"
#include "status/server_control.h"

namespace quarry::app {

struct WebhookArguments {
  std::string file;
  std::string name;
  std::string url;  // "-": read from standard input
  std::vector<std::string> events;
  std::string format = "json";
  std::string secret_file;
  std::vector<std::string> allow;  // for a test: receivers whose addresses are not public
  std::string config =
      kDefaultConfig;  // for a test: configuration whose pool allows further receivers
  bool as_json = false;
};
Result<void> run_webhook_list(const WebhookArguments& arguments);
Result<void> run_webhook_add(const WebhookArguments& arguments);
Result<void> run_webhook_remove(const WebhookArguments& arguments);
Result<void> run_webhook_test(const WebhookArguments& arguments);

void add_webhook_commands(CLI::App& webhook, Run& run);

}  // namespace quarry::app
