#include "fossil_program.h"

#include <fmt/core.h>

#include "quarry/base/command.h"
#include "quarry/base/escape.h"

namespace quarry::app {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

}  // namespace

Result<std::string> ask_fossil(const std::filesystem::path& folder,
                               std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fossil");
  auto ended = base::run_command(
      {.words = arguments, .folder = folder.string(), .max_output = kMaxOutput + 1});
  if (!ended) {
    return fail(ended.error().code,
                fmt::format("fossil, which is asked what has changed: {}", ended.error().message));
  }
  const std::string& text = ended->output;
  if (text.size() > kMaxOutput) {
    return fail(ErrorCode::kLimit, fmt::format("fossil prints more than {} bytes", kMaxOutput));
  }
  if (ended->is_success()) return std::move(ended->output);
  return fail(ErrorCode::kInvalid, fmt::format("fossil {}: {}", arguments[1],
                                               base::printable(text.substr(0, text.find('\n')))));
}

}  // namespace quarry::app
