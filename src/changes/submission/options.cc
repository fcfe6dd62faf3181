#include "quarry/changes/options.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/escape.h"
#include "quarry/base/split.h"

namespace quarry::changes {

std::filesystem::path queue_base(const PoolOptions& options, const std::filesystem::path& file,
                                 std::string_view name) {
  constexpr std::string_view kEnding = ".changes";
  if (!options.base.empty()) {
    const auto called = name.empty() ? file.stem().string() : std::string(name);
    return options.base / (called + std::string(kEnding));
  }
  std::filesystem::path beside = file;
  return beside += kEnding;
}

std::size_t batch_of(const PoolOptions& options) {
  constexpr std::size_t kWithoutGate = 32;
  if (options.batch > 0) return options.batch;
  return options.gate.program.empty() ? kWithoutGate : 1;
}

Result<std::array<bool, kMoveTypes>> parse_move_types(std::string_view text) {
  std::array<bool, kMoveTypes> types{};
  if (text == "none") return types;
  for (const std::string& word : base::split_words(text, " \t,")) {
    const auto type = move_type_named(word);
    if (!type) {
      return fail(ErrorCode::kInvalid, "\"{}\" is not a move type (RB, EM, BF, DC, or none)",
                  base::printable(word));
    }
    types[static_cast<std::size_t>(*type)] = true;
  }
  return types;
}

std::string text_of(const std::array<bool, kMoveTypes>& types) {
  std::string text;
  for (std::size_t i = 0; i < kMoveTypes; ++i) {
    if (!types[i]) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " ", word_of(static_cast<MoveType>(i)));
  }
  return text.empty() ? "none" : text;
}

}  // namespace quarry::changes
