// quarry: everything that a person does to a repository from a command line.
//
// Exit codes: 0 done; 1 the operation failed, one line on standard error says why; 2 wrong usage.

#include <fmt/core.h>
#include <openssl/rand.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <string>

#include "quarry/repository/repository.h"

namespace {

using quarry::base::Error;
namespace repository = quarry::repository;

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int failed(const Error& error) {
  fmt::print(stderr, "quarry: {}\n", error.message);
  return kFailed;
}

std::string login_of_caller() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : "admin";
}

/// Ten letters and digits, without those that look alike.
std::string random_password() {
  constexpr std::string_view kAlphabet = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  std::string password;
  while (password.size() < 10) {
    unsigned char byte = 0;
    if (RAND_bytes(&byte, 1) != 1) return {};
    // Bytes beyond the last whole multiple would make some letters likelier.
    if (byte < 256 / kAlphabet.size() * kAlphabet.size())
      password += kAlphabet[byte % kAlphabet.size()];
  }
  return password;
}

struct InitArguments {
  std::string file;
  std::string project_name;
  std::string user;
  std::string password;
};

int run_init(InitArguments arguments) {
  const bool is_random = arguments.password.empty();
  if (is_random) arguments.password = random_password();
  if (arguments.password.empty()) return failed({.message = "no random numbers to be had"});
  if (arguments.user.empty()) arguments.user = login_of_caller();
  const auto made = repository::init(arguments.file, {.project_name = arguments.project_name,
                                                      .user = arguments.user,
                                                      .password = arguments.password});
  if (!made) return failed(made.error());
  const auto opened = repository::Repository::open(arguments.file);
  if (!opened) return failed(opened.error());
  fmt::print("project-id: {}\nserver-id:  {}\n", (*opened)->project_code(),
             (*opened)->server_code());
  if (is_random) {
    fmt::print("admin-user: {} (password is \"{}\")\n", arguments.user, arguments.password);
  } else {
    fmt::print("admin-user: {}\n", arguments.user);
  }
  return kDone;
}

int run_verify(const std::string& file, bool quiet) {
  const bool show_progress = !quiet && ::isatty(STDERR_FILENO) == 1;
  std::size_t shown = 101;
  const auto progress = [&](std::size_t done, std::size_t total) {
    const std::size_t percent = total == 0 ? 100 : done * 100 / total;
    if (!show_progress || percent == shown) return;
    shown = percent;
    fmt::print(stderr, "\r{:3}% of {} artifacts", percent, total);
  };
  const auto findings = repository::verify(file, progress);
  if (show_progress) fmt::print(stderr, "\r\x1b[K");
  if (!findings) return failed(findings.error());
  for (const std::string& finding : *findings) fmt::print("{}\n", finding);
  if (!findings->empty()) {
    return failed({.message = fmt::format("{}: {} faults found", file, findings->size())});
  }
  if (!quiet) fmt::print("{}: no fault found\n", file);
  return kDone;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"quarry: make, check and look after Fossil repositories", "quarry"};
  app.set_version_flag("--version", std::string("quarry ") + QUARRY_VERSION);
  app.require_subcommand(1);

  InitArguments init;
  CLI::App* init_command = app.add_subcommand("init", "make a new repository");
  init_command->add_option("FILE", init.file, "the repository file to make")->required();
  init_command->add_option("--project-name", init.project_name, "name of the project");
  init_command->add_option("--user", init.user, "login of the first user (default: your own)");
  init_command->add_option("--password", init.password,
                           "password of that user (default: a random one, printed)");

  std::string verify_file;
  bool quiet = false;
  CLI::App* verify_command = app.add_subcommand(
      "verify", "check every hash, every delta, and the derived tables; changes nothing");
  verify_command->add_option("FILE", verify_file, "the repository file to check")->required();
  verify_command->add_flag("--quiet", quiet, "print faults only");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUsage;
  }
  try {
    return init_command->parsed() ? run_init(init) : run_verify(verify_file, quiet);
  } catch (const std::exception& error) {
    return failed({.message = error.what()});
  }
}
