// For the end-to-end tests of SMTP: send-mail URL OPTIONS… FROM RECIPIENTS sends the message on
// standard input --times times over one connection, and prints the outcome for each recipient.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "quarry/courier/smtp.h"

using namespace quarry::courier;

int main(int argc, char** argv) {
  const std::map<std::string, StartTls> kStartTls = {{"off", StartTls::kOff},
                                                     {"if-offered", StartTls::kIfOffered},
                                                     {"required", StartTls::kRequired}};
  SmtpOptions options;
  std::string from;
  std::vector<std::string> recipients;
  int times = 1;
  int pause = 0;
  int timeout = 5000;
  CLI::App app("Sends a mail");
  app.add_option("url", options.url)->required();
  app.add_option("from", from)->required();
  app.add_option("recipients", recipients)->required();
  app.add_option("--starttls", options.start_tls)->transform(CLI::CheckedTransformer(kStartTls));
  app.add_option("--user", options.user);
  app.add_option("--password", options.password);
  app.add_option("--ca-file", options.ca_file);
  app.add_option("--timeout", timeout);
  app.add_option("--times", times);
  app.add_option("--pause", pause);
  CLI11_PARSE(app, argc, argv);
  options.timeout = std::chrono::milliseconds(timeout);
  const std::string message{std::istreambuf_iterator<char>(std::cin), {}};
  SmtpSender sender(options);
  for (int i = 0; i < times; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    const MailReport report = sender.send({from, recipients, message});
    for (std::size_t k = 0; k < recipients.size(); ++k) {
      constexpr const char* kNames[] = {"sent", "later", "refused"};
      fmt::print("{} {} {}\n", recipients[k],
                 kNames[static_cast<int>(report.recipients[k].outcome)], report.recipients[k].why);
    }
  }
  return 0;
}
