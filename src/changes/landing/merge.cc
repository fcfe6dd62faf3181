#include "quarry/changes/merge.h"

#include <fmt/core.h>
#include <git2.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace quarry::changes {
namespace {

// Any line of a file that looks like a marker counts as a conflict. The markers are longer than
// git's, because a file can contain git's markers.
constexpr std::size_t kMarkerSize = 11;

using Outcome = std::expected<std::optional<MergedFile>, MergeConflict>;

/// Initializes libgit2 at the first call. libgit2 stays initialized until the process exits.
void need_library() {
  struct Library {
    Library() {
      if (git_libgit2_init() < 0) throw std::runtime_error("cannot initialize libgit2");
    }
    ~Library() { git_libgit2_shutdown(); }
  };
  static const Library library;
}

/// The result of git_merge_file().
struct LinesMerged {
  LinesMerged() = default;
  LinesMerged(const LinesMerged&) = delete;
  LinesMerged& operator=(const LinesMerged&) = delete;
  ~LinesMerged() { git_merge_file_result_free(&result); }
  std::string_view text() const { return {result.ptr, result.len}; }

  git_merge_file_result result{};
};

Outcome conflict(std::string reason, std::string regions = {}) {
  return std::unexpected(MergeConflict{std::move(reason), std::move(regions)});
}

MergedFile merged(std::string_view content, char permission) {
  return {std::string(content), permission};
}

std::optional<MergedFile> as_merged(const MaybeVersion& version) {
  if (!version) return std::nullopt;
  return merged(version->content, version->permission);
}

bool is_text(std::string_view content) {
  return content.find('\0') == std::string_view::npos;
}

bool is_too_large(std::string_view content) {
  return content.size() > kMaxMerged ||
         std::ranges::count(content, '\n') > static_cast<std::ptrdiff_t>(kMaxLinesMerged);
}

git_merge_file_input input_of(std::string_view content) {
  git_merge_file_input input = GIT_MERGE_FILE_INPUT_INIT;
  input.ptr = content.empty() ? "" : content.data();
  input.size = content.size();
  return input;
}

/// Returns TEXT with control characters replaced, for logs that people read on terminals.
std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  return shown;
}

/// Returns the conflicting regions in MERGED, each with the number of its first line. Limited to
/// kMaxConflictText bytes.
std::string regions_of(std::string_view merged) {
  const std::string first(kMarkerSize, '<');
  const std::string last(kMarkerSize, '>');
  std::string regions;
  bool is_inside = false;
  std::size_t number = 0;
  for (std::size_t at = 0; at < merged.size();) {
    const std::size_t end = std::min(merged.find('\n', at), merged.size());
    const std::string_view line = merged.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.starts_with(first)) {
      regions += fmt::format("line {}:\n", number);
      is_inside = true;
    }
    if (!is_inside) continue;
    if (regions.size() + line.size() > kMaxConflictText) return regions + "(and more)\n";
    regions += printable(line) + "\n";
    is_inside = !line.starts_with(last);
  }
  return regions;
}

Outcome merge_lines(const FileVersion& base, const FileVersion& ours, const FileVersion& theirs,
                    char permission, const MergeLabels& labels) {
  const std::string_view contents[] = {base.content, ours.content, theirs.content};
  if (!std::ranges::all_of(contents, is_text)) {
    return conflict("changed on both sides; binary files cannot be merged");
  }
  if (std::ranges::any_of(contents, is_too_large)) {
    return conflict(
        fmt::format("changed on both sides; too large to merge (limits: {} bytes, {} lines)",
                    kMaxMerged, kMaxLinesMerged));
  }
  need_library();
  const git_merge_file_input inputs[] = {input_of(base.content), input_of(ours.content),
                                         input_of(theirs.content)};
  git_merge_file_options options = GIT_MERGE_FILE_OPTIONS_INIT;
  options.ancestor_label = labels.base.c_str();
  options.our_label = labels.ours.c_str();
  options.their_label = labels.theirs.c_str();
  options.flags = GIT_MERGE_FILE_STYLE_DIFF3;
  options.marker_size = kMarkerSize;
  LinesMerged lines;
  if (git_merge_file(&lines.result, &inputs[0], &inputs[1], &inputs[2], &options) != 0) {
    const git_error* const error = git_error_last();
    return conflict(fmt::format("cannot merge its lines: {}",
                                error != nullptr ? error->message : "unknown error"));
  }
  if (lines.result.automergeable == 0) {
    return conflict("the same lines changed on both sides", regions_of(lines.text()));
  }
  return merged(lines.text(), permission);
}

/// Returns the side that differs from BASE, or either side if both sides are equal. Returns nullopt
/// if both sides differ from BASE and from each other.
template <typename T>
std::optional<T> only_change(const T& base, const T& ours, const T& theirs) {
  if (ours == theirs || theirs == base) return ours;
  if (ours == base) return theirs;
  return std::nullopt;
}

}  // namespace

Outcome merge_file(const MaybeVersion& base, const MaybeVersion& ours, const MaybeVersion& theirs,
                   const MergeLabels& labels) {
  if (const auto one = only_change(base, ours, theirs)) return as_merged(*one);
  if (!theirs) return conflict("deleted, but changed on the branch");
  if (!ours) return conflict("changed, but deleted on the branch");
  if (!base) return conflict("added on both sides with different contents");
  const char permissions[] = {base->permission, ours->permission, theirs->permission};
  if (std::ranges::find(permissions, 'l') != std::end(permissions)) {
    return conflict("changed on both sides; symbolic links cannot be merged");
  }
  // only_change() always returns a permission here. A file that is not a link has one of only two
  // permissions, so if both sides have changed the permission, both sides have the same permission.
  const char permission = *only_change(base->permission, ours->permission, theirs->permission);
  if (const auto content = only_change(base->content, ours->content, theirs->content)) {
    return merged(*content, permission);
  }
  return merge_lines(*base, *ours, *theirs, permission, labels);
}

std::string diff_file(const std::string& name, const MaybeVersion& before,
                      const MaybeVersion& after) {
  need_library();
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.max_size = static_cast<git_off_t>(kMaxDiffed);
  const std::string_view old_text = before ? before->content : std::string_view();
  const std::string_view new_text = after ? after->content : std::string_view();
  git_patch* patch = nullptr;
  git_buf buffer = GIT_BUF_INIT;
  std::string text;
  if (git_patch_from_buffers(&patch, before ? old_text.data() : nullptr, old_text.size(),
                             name.c_str(), after ? new_text.data() : nullptr, new_text.size(),
                             name.c_str(), &options) == 0 &&
      git_patch_to_buf(&buffer, patch) == 0) {
    text.assign(buffer.ptr, buffer.size);
  } else {
    text = fmt::format("\n{}: the diff cannot be computed\n", name);
  }
  git_buf_dispose(&buffer);
  git_patch_free(patch);
  if (before && after && before->permission != after->permission) {
    text += fmt::format("\n{}: now {}\n", name,
                        after->permission == 'x'   ? "executable"
                        : after->permission == 'l' ? "a symbolic link"
                                                   : "a regular file");
  }
  return text;
}

}  // namespace quarry::changes
