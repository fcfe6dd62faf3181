#include "usage.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"

namespace quarry::app {
namespace {

constexpr int kWrongUsage = 2;
constexpr std::size_t kMaxShown = 200;

/// A command of fossil, git or php-fpm that users might try here.
struct OtherName {
  std::string_view word;
  std::string_view ours;
};
constexpr std::array kOtherNames = {
    OtherName{"pull", "quarry sync REPO --pull"},
    OtherName{"push", "quarry sync REPO --push"},
    OtherName{"new", "quarry init"},
    OtherName{"create", "quarry init"},
    OtherName{"server", "quarryd --serve"},
    OtherName{"serve", "quarryd --serve"},
    OtherName{"ui", "quarryd --serve"},
    OtherName{"fsck", "quarry verify"},
    OtherName{"help", "quarry --help"},
    OtherName{"version", "quarry --version"},
    OtherName{"test-integrity", "quarry verify"},
};

/// Returns the restricted Damerau-Levenshtein distance: the number of letters to change, insert,
/// delete or swap with the next letter.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) steps[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) steps[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
      }
    }
  }
  return steps[a.size()][b.size()];
}

/// Returns the element of KNOWN that is most similar to WORD: the one with the smallest distance.
/// Returns "" if even the smallest distance is more than a third of the element's letters.
std::string likeliest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxShown) return {};
  std::string best;
  std::size_t fewest = std::string_view::npos;
  for (const std::string& each : known) {
    const std::size_t steps = distance(word, each);
    if (steps < fewest && steps * 3 <= std::max(word.size(), each.size())) {
      fewest = steps;
      best = each;
    }
  }
  return best;
}

std::string shown(std::string_view word) {
  return base::printable(base::without_credentials(word), kMaxShown);
}

const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* found = &app;
  while (!found->get_subcommands().empty()) found = found->get_subcommands().front();
  return *found;
}

/// Returns the full name of COMMAND, such as "quarry spool feed".
std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent != nullptr ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* each : app.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string suggestion(const std::string& likely) {
  return likely.empty() ? "" : fmt::format(": did you mean {}?", likely);
}

std::string no_such_option(const CLI::App& command, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  if (command.get_option_no_throw(std::string(name)) != nullptr) {
    return fmt::format("{} must come after the command and before \"--\"", shown(name));
  }
  return fmt::format("unknown option {}{}", shown(name),
                     suggestion(likeliest(name, options_of(command))));
}

std::string no_such_command(const CLI::App& command, std::string_view word) {
  const std::vector<std::string> names = commands_of(command);
  std::string likely;
  const auto other = std::ranges::find(kOtherNames, word, &OtherName::word);
  if (command.get_parent() == nullptr && other != kOtherNames.end()) likely = other->ours;
  if (likely.empty()) likely = likeliest(word, names);
  return fmt::format("unknown command \"{}\"{}", shown(word),
                     likely.empty() ? fmt::format(": the commands are {}", fmt::join(names, ", "))
                                    : suggestion(likely));
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.starts_with('-');
}

/// Returns the message for ERROR, which the parser of APP has thrown. The message does not contain
/// newlines or the passwords of URLs.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const bool wants_command =
      command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  const auto option = std::ranges::find_if(extras, is_option);
  const auto word = std::ranges::find_if_not(extras, is_option);
  std::string what;
  if (word != extras.end() && wants_command) {
    what = no_such_command(command, *word);
  } else if (option != extras.end()) {
    what = no_such_option(command, *option);
  } else if (word != extras.end()) {
    what = fmt::format("unexpected argument \"{}\"", shown(*word));
  } else if (wants_command) {
    what = fmt::format("a command is required: {}", fmt::join(commands_of(command), ", "));
  } else {
    what = error.what();
  }
  const std::string name = full_name(command);
  return fmt::format("{}: {} ({} --help)", name, what, name);
}

}  // namespace

int end_of_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  fmt::print(stderr, "{}\n", complaint(app, error));
  return kWrongUsage;
}

}  // namespace quarry::app
