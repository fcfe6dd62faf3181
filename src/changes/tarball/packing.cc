#include "packing.h"

#include <cstring>
#include <utility>

namespace quarry::changes {
namespace {

constexpr std::size_t kMaxMessage = 4096;

void put(std::string& out, std::uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put(std::string& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

/// Parses the output of the child. After an item is missing, all later items also count as missing.
class Unpacking {
 public:
  explicit Unpacking(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    if (rest_.size() < sizeof number) return spoil();
    std::memcpy(&number, rest_.data(), sizeof number);
    rest_.remove_prefix(sizeof number);
    return number;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) spoil();
    const std::string text(rest_.substr(0, size));
    rest_.remove_prefix(text.size());
    return text;
  }
  /// Reads the number of items that follow. Each item consists of at least one number, so a number
  /// that is too high for the remaining bytes is invalid.
  std::uint64_t count() {
    const std::uint64_t count = number();
    return count > rest_.size() / sizeof count ? spoil() : count;
  }
  bool is_whole() const { return is_whole_ && rest_.empty(); }

 private:
  std::uint64_t spoil() {
    is_whole_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool is_whole_ = true;
};

std::unexpected<Error> senseless() {
  return fail(ErrorCode::kInvalid,
              "the tarball reader sent an invalid reply; the tarball might be malicious");
}

/// Returns whether the permission of FILE is valid, its size is within LIMITS, and its content is
/// inside the file of contents. CONTENTS is the size of the file of contents.
bool is_possible(const SubmittedFile& file, std::uint64_t contents, const TarballLimits& limits) {
  const bool is_permission =
      file.permission == 0 || file.permission == 'x' || file.permission == 'l';
  return is_permission && file.size <= limits.file && file.size <= contents &&
         file.offset <= contents - file.size;
}

}  // namespace

std::string packed(const Result<TarballEntries>& entries) {
  std::string out;
  put(out, std::uint64_t{entries ? 0U : 1U});
  if (!entries) {
    put(out, static_cast<std::uint64_t>(entries.error().code));
    put(out, std::string_view(entries.error().message).substr(0, kMaxMessage));
    return out;
  }
  put(out, std::uint64_t{entries->has_meta});
  put(out, entries->meta);
  put(out, std::uint64_t{entries->files.size()});
  for (const SubmittedFile& file : entries->files) {
    put(out, file.name);
    put(out, static_cast<std::uint64_t>(file.permission));
    put(out, file.size);
    put(out, file.offset);
  }
  put(out, std::uint64_t{entries->folders.size()});
  for (const std::string& folder : entries->folders) put(out, folder);
  return out;
}

Result<TarballEntries> unpacked(std::string_view bytes, std::uint64_t contents,
                                const TarballLimits& limits) {
  Unpacking from(bytes);
  if (from.number() != 0) {
    const std::uint64_t code = from.number();
    std::string message = from.text();
    if (!from.is_whole() || code > static_cast<std::uint64_t>(ErrorCode::kDiscarded))
      return senseless();
    return fail(static_cast<ErrorCode>(code), std::move(message));
  }
  TarballEntries entries;
  entries.has_meta = from.number() != 0;
  entries.meta = from.text();
  for (std::uint64_t left = from.count(); left > 0; --left) {
    SubmittedFile file{.name = from.text()};
    file.permission = static_cast<char>(from.number());
    file.size = from.number();
    file.offset = from.number();
    if (!is_possible(file, contents, limits)) return senseless();
    entries.files.push_back(std::move(file));
  }
  for (std::uint64_t left = from.count(); left > 0; --left) entries.folders.push_back(from.text());
  if (!from.is_whole() || entries.files.size() + entries.folders.size() > limits.entries)
    return senseless();
  return entries;
}

}  // namespace quarry::changes
