#include "quarry/changes/moved.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::changes {

namespace {

constexpr std::string_view kPrefix = "moved.";
constexpr std::size_t kMaxNote = 512;
constexpr std::size_t kMaxMoves = 1'000;  // maximum number of moves that one call reads

struct Note {
  std::string file;
  base::UnixMillis time;
};

std::optional<Note> note_named(const std::string& file) {
  if (!file.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = std::string_view(file).substr(file.rfind('.') + 1);
  const auto time = base::parse_number<std::int64_t>(rest);
  if (!time) return std::nullopt;
  return Note{.file = file, .time = {*time}};
}

/// Returns the move that NOTE records, or nullopt if NOTE is invalid or its job no longer exists.
Result<std::optional<Moved>> move_in(const Directories& directories, const Note& note) {
  QUARRY_TRY_ASSIGN(const std::string content,
                    directories.read_file(directories.control(note.file), kMaxNote));
  std::string_view rest = content;
  std::string_view text = base::take_until(rest, '\n');
  const auto from = stage_of_folder(base::take_until(text, ' '));
  const auto to = stage_of_folder(base::take_until(text, ' '));
  const auto name = ChangeSetName::parse(text);
  if (!from || !to || !name) return std::nullopt;
  auto found = job_anywhere(directories, *name);
  if (!found) return std::nullopt;
  Moved moved{.job = std::move(found->second), .from = *from, .to = *to};
  auto& history = moved.job.history;
  const auto last = std::ranges::find_if(history.rbegin(), history.rend(), [&](const auto& each) {
    return each.time == note.time && each.state == letter_of(*to);
  });
  if (last != history.rend()) history.erase(last.base(), history.end());
  return moved;
}

}  // namespace

Result<void> note_move(Directories& directories, const Job& job, Stage from, Stage to) {
  if (job.history.empty()) return {};
  const std::string file =
      fmt::format("{}{}.{}", kPrefix, job.name.id.str(), job.history.back().time.value);
  return directories.replace_file(
      directories.control(file),
      fmt::format("{} {} {}\n", folder_of(from), folder_of(to), job.name.text()));
}

Result<std::vector<Moved>> take_moves(Directories& directories) {
  QUARRY_TRY_ASSIGN(const auto files, directories.files().list(directories.control("")));
  std::vector<Note> notes;
  for (const std::string& file : files) {
    if (auto note = note_named(file)) notes.push_back(std::move(*note));
  }
  std::ranges::sort(notes, {}, &Note::time);
  if (notes.size() > kMaxMoves) notes.resize(kMaxMoves);
  std::vector<Moved> moves;
  for (const Note& note : notes) {
    QUARRY_TRY_ASSIGN(auto moved, move_in(directories, note));
    QUARRY_TRY(directories.files().remove(directories.control(note.file)));
    if (moved) moves.push_back(std::move(*moved));
  }
  return moves;
}

std::optional<std::pair<Stage, Job>> job_anywhere(const Directories& directories,
                                                  const ChangeSetName& name) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    for (std::size_t i = 0; i < kStages; ++i) {
      const auto stage = static_cast<Stage>(i);
      auto job = directories.read(stage, name);
      if (job) return std::pair(stage, std::move(*job));
    }
  }
  return std::nullopt;
}

}  // namespace quarry::changes
