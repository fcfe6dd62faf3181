#include "copies.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "quarry/artifact/digest.h"
#include "quarry/base/fd.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/repository/backup.h"

namespace quarry::replica {
namespace {

constexpr std::size_t kMaxCopies = 4;
constexpr std::chrono::seconds kUnusedTime{60};
constexpr std::size_t kMaxListed = 1000;

}  // namespace

Copies::Copies(Repositories& repositories, std::filesystem::path folder, std::size_t max)
    : repositories_(repositories), folder_(std::move(folder)), max_(max) {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Copies::~Copies() {
  is_stopping_ = true;
  copies_.clear();  // waits for copies in progress
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Result<std::string> Copies::answer(std::string_view verb, std::string_view rest) {
  if (verb == "list") return list(rest);
  const std::lock_guard lock(mutex_);
  if (verb == "copy") return begin(rest);
  const auto copy = copies_.find(base::take_until(rest, ' '));
  if (copy == copies_.end()) return fail(ErrorCode::kNotFound, "no such copy");
  copy->second.used = std::chrono::steady_clock::now();
  if (verb == "size") return size(copy->second);
  if (verb == "read") return read(copy->second, rest);
  if (verb != "end") return fail(ErrorCode::kInvalid, "unknown request");
  copy->second.used = {};
  return "";
}

Result<std::string> Copies::list(std::string_view from) const {
  const auto first = base::parse_number<std::size_t>(from);
  if (!first) return fail(ErrorCode::kInvalid, "expected a number");
  auto listed = nlohmann::json::array();
  std::size_t size = 0;
  const auto all = repositories_.all();
  for (std::size_t i = *first; i < all.size() && listed.size() < kMaxListed; ++i) {
    const Replicated& one = *all[i];
    const std::string project = repositories_.facts(one).project;
    size += one.pool.size() + one.name.size() + project.size() + 16;
    if (size > max_) break;
    listed.push_back({one.pool, one.name, project});
  }
  return listed.dump();
}

/// Starts to copy the repository in WORDS. mutex_ must be locked.
Result<std::string> Copies::begin(std::string_view words) {
  if (copies_.size() >= kMaxCopies)
    return fail(ErrorCode::kBusy, "too many copies at the same time");
  const std::size_t end = words.rfind(' ');
  if (end == std::string_view::npos) return fail(ErrorCode::kInvalid, "expected a pool and a name");
  QUARRY_TRY_ASSIGN(const ReplicatedPtr one,
                    repositories_.find(words.substr(0, end), words.substr(end + 1)));
  std::error_code ignored;
  std::filesystem::create_directory(folder_, ignored);
  const std::string id = std::to_string(next_id_++);
  Copy& copy = copies_[id];
  copy.path = folder_ / id;
  copy.used = std::chrono::steady_clock::now();
  copy.making = std::async(std::launch::async, [this, one, path = copy.path] {
    return repository::back_up(one->path, path, {.progress = {}, .is_interrupted = [this] {
                                                   return is_stopping_.load();
                                                 }});
  });
  return id;
}

Result<std::string> Copies::size(Copy& copy) {
  if (copy.making.valid()) {
    if (copy.making.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return "";
    QUARRY_TRY_ASSIGN(copy.size, copy.making.get());
  }
  struct stat status {};
  if (::stat(copy.path.c_str(), &status) != 0) return fail_errno("cannot read the copy");
  return fmt::format("{} {}", copy.size, status.st_mode & 0777);
}

Result<std::string> Copies::read(const Copy& copy, std::string_view words) const {
  const auto offset = base::take_number<off_t>(words);
  const auto count = base::take_number<std::size_t>(words);
  constexpr std::size_t kDigest = 64;
  if (!offset || !count || *offset < 0 || *count > max_ - kDigest)
    return fail(ErrorCode::kInvalid, "expected an offset and a size");
  const base::Fd file(::open(copy.path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(*count, '\0');
  const ssize_t size = file ? ::pread(file.get(), bytes.data(), bytes.size(), *offset) : -1;
  if (size < 0) return fail_errno("cannot read the copy");
  bytes.resize(static_cast<std::size_t>(size));
  return artifact::sha3_256_hex(bytes) + bytes;
}

void Copies::expire() {
  const std::lock_guard lock(mutex_);
  const auto last = std::chrono::steady_clock::now() - kUnusedTime;
  for (auto each = copies_.begin(); each != copies_.end();) {
    const Copy& copy = each->second;
    const bool is_made = !copy.making.valid() ||
                         copy.making.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (!is_made || copy.used > last) {
      ++each;
      continue;
    }
    std::error_code ignored;
    std::filesystem::remove(copy.path, ignored);
    each = copies_.erase(each);
  }
}

}  // namespace quarry::replica
