#include "join.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <future>
#include <system_error>
#include <utility>

#include "quarry/artifact/digest.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/repository/temporary_repository.h"

namespace quarry::replica {
namespace {

using base::LogLevel;
using Json = nlohmann::json;

// Requests that are sent before the first one is answered.
constexpr std::size_t kParallelReads = 4;
constexpr std::size_t kDigestSize = 64;
constexpr std::chrono::milliseconds kPoll{50};
constexpr std::chrono::seconds kHostTime{30};
constexpr std::size_t kMaxRepositories = 1'000'000;

/// Whether the other host could not be asked, so that further requests would fail, too.
bool is_unreachable(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kBusy;
}

}  // namespace

Result<void> Join::start(Wanted wanted) {
  if (status()["running"] == true) {
    return fail(ErrorCode::kBusy, "repositories are being copied already");
  }
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(mutex_);
    status_ = {{"running", true}, {"results", Json::array()}};
  }
  thread_ = std::thread([this, wanted = std::move(wanted)] {
    const auto done = run(wanted);
    if (!done) set("error", done.error().message);
    set("running", false);
  });
  return {};
}

void Join::stop() {
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

Json Join::status() const {
  const std::lock_guard lock(mutex_);
  Json status = status_;
  if (status["running"] == true) status.erase("results");
  return status;
}

void Join::set(const char* name, Json value) {
  const std::lock_guard lock(mutex_);
  status_[name] = std::move(value);
}

void Join::add_result(const Listed& listed, const char* result, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  status_["results"].push_back(
      {{"repository", listed.text()}, {"result", result}, {"reason", reason}});
}

/// Returns the hosts to ask, in this order.
Result<std::vector<std::string>> Join::find_hosts(const std::string& wanted) const {
  if (!wanted.empty()) return std::vector{wanted};
  const auto end = std::chrono::steady_clock::now() + kHostTime;
  do {
    std::vector<std::string> hosts;
    for (const Peers::Host& host : peers_.hosts()) {
      if (!host.is_silent) hosts.push_back(host.name);
    }
    if (!hosts.empty()) return hosts;
    std::this_thread::sleep_for(kPoll);
  } while (!is_stopping_ && std::chrono::steady_clock::now() < end);
  return fail(ErrorCode::kNotFound, "no other host of the group answers");
}

Result<void> Join::run(const Wanted& wanted) {
  QUARRY_TRY_ASSIGN(const auto hosts, find_hosts(wanted.from));
  std::string from;
  Result<std::vector<Listed>> listed;
  for (const std::string& host : hosts) {
    from = host;
    listed = list(from);
    if (listed || !is_unreachable(listed.error())) break;
  }
  if (!listed) return std::unexpected(listed.error());
  set("from", from);
  bool is_found = !wanted.repository;
  for (const Listed& each : *listed) {
    if (wanted.repository && *wanted.repository != std::pair(each.pool, each.name)) continue;
    is_found = true;
    const auto taken = take(from, each);
    if (taken) continue;
    const bool is_end = is_stopping_ || is_unreachable(taken.error());
    if (is_end) {
      return fail(taken.error().code, "cannot copy {} from host {}: {}", each.text(), from,
                  taken.error().message);
    }
    add_result(each, "failed", taken.error().message);
  }
  if (is_found) return {};
  return fail(ErrorCode::kInvalid, "host {} does not have this repository", from);
}

Result<std::vector<Join::Listed>> Join::list(const std::string& from) const {
  std::vector<Listed> all;
  while (all.size() < kMaxRepositories) {
    QUARRY_TRY_ASSIGN(const std::string answer,
                      peers_.request(from, fmt::format("list {}", all.size())));
    const Json page = Json::parse(answer, nullptr, false);
    if (!page.is_array()) return fail(ErrorCode::kInvalid, "host {}: unknown answer", from);
    if (page.empty()) break;
    for (const Json& each : page) {
      const bool is_valid =
          each.is_array() && each.size() == 3 &&
          std::ranges::all_of(each, [](const Json& one) { return one.is_string(); });
      if (!is_valid) return fail(ErrorCode::kInvalid, "host {}: unknown answer", from);
      all.push_back({each[0], each[1], each[2]});
    }
  }
  return all;
}

Result<void> Join::take(const std::string& from, const Listed& listed) {
  const auto place = repositories_.place(listed.pool, listed.name);
  if (!place) {
    add_result(listed, "skipped", "this host does not replicate it: " + place.error().message);
    return {};
  }
  if (file_state(place->path)) {
    add_result(listed, "kept", "the file exists");
    return {};
  }
  if (const auto other = repositories_.of_project(listed.project)) {
    add_result(listed, "skipped",
               fmt::format("{} is a repository of the same project", other->path.string()));
    return {};
  }
  set("repository", listed.text());
  set("bytes", 0);
  QUARRY_TRY(copy(from, listed, *place));
  add_result(listed, "copied", "");
  return {};
}

Result<void> Join::copy(const std::string& from, const Listed& listed, const Place& place) {
  std::error_code error;
  std::filesystem::create_directories(place.path.parent_path(), error);
  repository::TemporaryRepository temporary(place.path, "join");
  QUARRY_TRY_ASSIGN(const std::string id,
                    peers_.request(from, fmt::format("copy {} {}", listed.pool, listed.name)));
  const auto downloaded = download(from, id, temporary.path());
  (void)peers_.request(from, "end " + id);
  if (!downloaded) return std::unexpected(temporary.with_file_name(downloaded.error()));
  {
    QUARRY_TRY_ASSIGN(const auto repository, repository::Repository::open(temporary.path()));
    sync::Replication replication(*repository, max_);
    QUARRY_TRY_ASSIGN(const std::string project, replication.project());
    if (project != listed.project)
      return fail(ErrorCode::kConflict, "the copy has another project");
    QUARRY_TRY(replication.prepare({}, host_));
  }
  QUARRY_TRY(temporary.move(/*replaces=*/false));
  base::log(LogLevel::kNotice, "copied {} from host {}", place.path.string(), from);
  QUARRY_TRY_ASSIGN(const ReplicatedPtr one, repositories_.find(listed.pool, listed.name));
  publisher_.examine(one);
  return {};
}

/// Waits until the other host has made the copy ID. Reserves its size in FILE, and sets its mode.
Result<std::int64_t> Join::wait_for_size(const std::string& from, const std::string& id, int file) {
  std::string answer;
  while (answer.empty()) {
    if (is_stopping_) return fail(ErrorCode::kBusy, "quarry-replica is stopping");
    std::this_thread::sleep_for(kPoll);
    QUARRY_TRY_ASSIGN(answer, peers_.request(from, "size " + id));
  }
  std::string_view words = answer;
  const auto size = base::take_number<std::int64_t>(words);
  const auto mode = base::take_number<mode_t>(words);
  if (!size || !mode || *size <= 0) return fail(ErrorCode::kConflict, "unknown size of the copy");
  // Fails at once if there is not enough space.
  if (const int code = ::posix_fallocate(file, 0, *size); code != 0) {
    errno = code;
    return fail_errno("cannot store {} bytes", *size);
  }
  if (::fchmod(file, *mode & 0777) != 0) return fail_errno("cannot set the mode");
  return *size;
}

Result<void> Join::download(const std::string& from, const std::string& id,
                            const std::filesystem::path& path) {
  const base::Fd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return fail_errno("cannot create {}", path.string());
  QUARRY_TRY_ASSIGN(const std::int64_t size, wait_for_size(from, id, file.get()));
  set("total_bytes", size);
  const auto chunk = static_cast<std::int64_t>(max_ - kDigestSize);
  std::deque<std::future<Result<std::string>>> reads;
  std::int64_t next = 0;
  for (std::int64_t done = 0; done < size;) {
    for (; next < size && reads.size() < kParallelReads; next += chunk) {
      const std::string request =
          fmt::format("read {} {} {}", id, next, std::min(chunk, size - next));
      reads.push_back(std::async(std::launch::async,
                                 [this, &from, request] { return peers_.request(from, request); }));
    }
    const Result<std::string> answer = reads.front().get();
    reads.pop_front();
    if (!answer) return std::unexpected(answer.error());
    const std::string_view digest = std::string_view(*answer).substr(0, kDigestSize);
    const std::string_view bytes = std::string_view(*answer).substr(digest.size());
    const bool is_whole = std::cmp_equal(bytes.size(), std::min(chunk, size - done));
    if (!is_whole || artifact::sha3_256_hex(bytes) != digest) {
      return fail(ErrorCode::kConflict, "the copy was damaged in transit");
    }
    if (is_stopping_) return fail(ErrorCode::kBusy, "quarry-replica is stopping");
    if (std::cmp_not_equal(::pwrite(file.get(), bytes.data(), bytes.size(), done), bytes.size())) {
      return fail_errno("cannot write {}", path.string());
    }
    done += static_cast<std::int64_t>(bytes.size());
    set("bytes", done);
  }
  return {};
}

}  // namespace quarry::replica
