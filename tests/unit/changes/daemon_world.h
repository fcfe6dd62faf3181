// A queue and its daemons in one process, on any file system. Its executor lands change sets in a
// text file or a list. A change set's comment selects its outcome.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemons/execution.h"
#include "daemons/prequeue.h"
#include "daemons/queueing.h"
#include "eventually.h"
#include "model_world.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/base/file_system.h"
#include "quarry/changes/daemons.h"
#include "quarry/changes/directories.h"

namespace quarry::changes {

/// Accepts tarballs that consist only of the meta file.
class MetaChecker final : public Checker {
 public:
  explicit MetaChecker(base::FileSystem& files) : files_(files) {}
  std::vector<Checked> check_all(std::span<const Case> cases) override {
    std::vector<Checked> all;
    for (const Case& each : cases) {
      Checked& checked = all.emplace_back();
      auto meta = check(each.tarball);
      if (!meta) {
        checked.verdict = std::unexpected(meta.error());
        continue;
      }
      checked.meta = std::move(*meta);
      if (checked.meta.target == "nowhere") {
        checked.verdict = fail(ErrorCode::kInvalid, "branch nowhere does not exist");
      } else if (checked.meta.type != MoveType::kRollback) {
        checked.meta.base = std::string(64, 'b');
      }
    }
    return all;
  }
  Result<std::string> diff(const Job& job, const std::filesystem::path& /*tarball*/) override {
    return "the diff of " + std::string(job.name.id.str());
  }

 private:
  Result<Meta> check(const std::filesystem::path& tarball) {
    QUARRY_TRY_ASSIGN(const auto file, files_.open(tarball, base::FileUse::kRead));
    QUARRY_TRY_ASSIGN(const auto size, file->size());
    std::string text(size, '\0');
    QUARRY_TRY(file->read_at(0, text));
    return Meta::parse(text);
  }

  base::FileSystem& files_;
};

class OneByOne : public Executor {
 public:
  virtual Outcome land(const Job& job, const Stop& stop, const Say& say) = 0;
  /// After a task with the wish "give way", the other tasks have to give way.
  std::vector<Outcome> land_all(const std::vector<Task>& tasks, const Stop& stop, Turn& turn,
                                const Decided& decided) override {
    std::vector<Outcome> outcomes;
    for (const Task& task : tasks) {
      outcomes.push_back(land(task.job, stop, task.say));
      if (task.job.meta.comment != "give way") continue;
      if (decided) decided(outcomes);
      if (!eventually([&] { return turn.must_give_way(); })) return {};
      outcomes.resize(tasks.size(), {.verdict = Verdict::kGaveWay, .why = {}, .landed = {}});
      break;
    }
    return outcomes;
  }
};

/// Writes a line to a file for each landing, unless the file already contains that line. Several
/// processes can use the file.
class TextExecutor final : public OneByOne {
 public:
  explicit TextExecutor(std::filesystem::path path) : path_(std::move(path)) {}

  Outcome land(const Job& job, const Stop& stop, const Say& say) override {
    const std::string& wish = job.meta.comment;
    if (wish == "fail") {
      say("<<<<<<< here\n>>>>>>> there");
      return {.verdict = Verdict::kFailed, .why = "a conflict", .landed = {}};
    }
    if (wish == "later") return {.verdict = Verdict::kDeferred, .why = "busy", .landed = {}};
    if (wish == "die") ::raise(SIGKILL);
    if (wish == "die once" && job.crashes == 0) ::raise(SIGKILL);
    if (wish == "wait") {
      say("waiting");
      if (eventually([&] { return stop.wanted().has_value(); })) {
        return {.verdict = *stop.wanted(), .why = "asked to stop", .landed = {}};
      }
    }
    write("land", job.name.id);
    // Simulates a crash after the landing and before the report.
    if (wish == "die late" && job.crashes == 0) ::raise(SIGKILL);
    return landed(job);
  }

  Outcome roll_back(const Job& rollback, const std::vector<Job>& landed_jobs, const Stop&,
                    const Say&) override {
    if (rollback.meta.comment == "fail") {
      return {.verdict = Verdict::kFailed, .why = "it can't be reversed", .landed = {}};
    }
    if (rollback.meta.comment == "die once" && rollback.crashes == 0) ::raise(SIGKILL);
    for (const Job& job : landed_jobs) write("back", job.name.id);
    if (rollback.meta.comment == "die late" && rollback.crashes == 0) ::raise(SIGKILL);
    return landed(rollback);
  }

  static Outcome landed(const Job& job) {
    return {
        .verdict = Verdict::kLanded,
        .why = "landed",
        .landed = artifact::HashName::of(artifact::HashAlgorithm::kSha3_256, job.name.id.str())};
  }

 private:
  void write(std::string_view word, const ChangeSetId& id) {
    const std::string line = std::string(word) + " " + std::string(id.str()) + "\n";
    std::ifstream in(path_);
    for (std::string other; std::getline(in, other);) {
      if (other + "\n" == line) return;
    }
    const base::Fd fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (::write(fd.get(), line.data(), line.size()) < 0) ::_exit(3);
  }

  std::filesystem::path path_;
};

/// A clock in shared memory. The test advances it for itself and for its child processes.
class SharedClock final : public base::Clock {
 public:
  SharedClock()
      : now_(
            static_cast<std::int64_t*>(::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(now_ != MAP_FAILED);
    *now_ = 1'700'000'000'000;
  }
  ~SharedClock() override { ::munmap(now_, sizeof *now_); }
  SharedClock(const SharedClock&) = delete;
  SharedClock& operator=(const SharedClock&) = delete;
  base::UnixMillis now() const override { return {*now_}; }
  void advance(std::int64_t millis) { *now_ += millis; }

 private:
  std::int64_t* now_;
};

/// The folders of a queue, and a context for its daemons.
class DaemonWorld {
 public:
  DaemonWorld(base::FileSystem& files, const std::filesystem::path& base)
      : directories(files, base), checker(files) {
    options.base = base;
    options.children = 3;
    REQUIRE(directories.make());
  }

  DaemonContext context() {
    return {.options = options, .directories = directories, .clock = clock, .report = report};
  }

  Result<void> try_submit(std::uint64_t number, const Meta& meta) {
    const ChangeSetName name = name_of(number, meta.type);
    QUARRY_TRY_ASSIGN(auto file, directories.begin(name));
    QUARRY_TRY(file->append(meta.text()));
    return directories.submit(
        name, std::move(file),
        {.submitter = "ann", .capabilities = "io", .address = "192.0.2.1", .time = clock.now()});
  }
  void submit(std::uint64_t number, std::vector<std::string> files, std::string wish = "land",
              std::vector<std::uint64_t> dependencies = {},
              MoveType type = MoveType::kDevelopment) {
    Meta meta;
    meta.type = type;
    meta.files = std::move(files);
    if (type != MoveType::kRollback) meta.target = "trunk";
    meta.comment = std::move(wish);
    for (const auto one : dependencies) meta.dependencies.push_back(id_of(one));
    REQUIRE(try_submit(number, meta));
  }

  /// Returns all stages whose folders contain the job NUMBER.
  std::vector<Stage> stages_of(std::uint64_t number) const {
    std::vector<Stage> found;
    for (std::size_t i = 0; i < kStages; ++i) {
      const auto names = directories.list(static_cast<Stage>(i));
      REQUIRE(names);
      for (const ChangeSetName& name : *names) {
        if (name.id == id_of(number)) found.push_back(static_cast<Stage>(i));
      }
    }
    return found;
  }
  /// Returns the only stage whose folder contains the job NUMBER. Searches up to ten more times,
  /// because a child might be moving the job.
  std::optional<Stage> stage_of(std::uint64_t number) const {
    std::vector<Stage> found = stages_of(number);
    for (int attempt = 0; attempt < 10 && found.size() != 1; ++attempt) found = stages_of(number);
    REQUIRE(found.size() <= 1);
    return found.empty() ? std::nullopt : std::optional(found.front());
  }
  /// Reads the job NUMBER. Tries up to ten more times, because a child might be moving the job.
  Job job_of(std::uint64_t number) const {
    const auto read = [&]() -> Result<Job> {
      QUARRY_TRY_ASSIGN(const auto location, directories.find(id_of(number)));
      if (!location) return fail(ErrorCode::kNotFound, "it is in no folder");
      return directories.read(location->stage, location->name);
    };
    auto job = read();
    for (int attempt = 0; attempt < 10 && !job; ++attempt) job = read();
    INFO((job ? std::string() : job.error().message));
    REQUIRE(job);
    return *job;
  }

  Directories directories;
  QueueOptions options;
  SharedClock clock;
  Report report = [](const QueueOptions&, const Job&, Stage, Stage) {};
  MetaChecker checker;
};

}  // namespace quarry::changes
