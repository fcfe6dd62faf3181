// From a job and its tarball to a check-in and a verdict.

#include "quarry/changes/executor.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "landing_world.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;

namespace {

class NoStop : public Stop {
 public:
  std::optional<Verdict> wanted() const override { return verdict; }
  std::optional<Verdict> verdict;
};

class ExecutorWorld : public LandingWorld {
 public:
  /// A gate that is the shell script SCRIPT; empty: none.
  explicit ExecutorWorld(const std::string& script = "") {
    ExecutorOptions options;
    options.repository = file();
    options.temporary = folder.path();
    options.open.clock = &clock;
    if (!script.empty()) {
      const auto path = folder / "gate";
      std::ofstream(path) << "#!/bin/sh\n" << script;
      ::chmod(path.c_str(), 0755);
      options.gate.command = {path.string()};
      options.gate.is_sandboxed = false;
      if (::geteuid() == 0) options.gate.user = "nobody";
      ::chmod(folder.path().c_str(), 0755);
    }
    executor = make_executor(std::move(options));
  }

  Job job(int number, const std::string& base = "") {
    Job job;
    job.name = {.id = id_of(number),
                .tai = tai64n(clock.now()),
                .pid = 1,
                .host = "here",
                .type = MoveType::kDevelopment,
                .extra = ""};
    job.meta.target = "trunk";
    job.meta.comment = "number " + std::to_string(number);
    job.meta.base = base;
    job.submitter = "ann";
    job.address = "192.0.2.7";
    return job;
  }
  /// Has the executor land JOB with ADDED and REMOVED.
  Outcome run(Job job, const FilesOf& added, const std::vector<std::string>& removed = {}) {
    std::vector<FileToSubmit> files;
    for (const auto& [name, file] : added) {
      job.meta.files.push_back(name);
      files.push_back({name, file.permission,
                       [content = file.content] { return base::Result<std::string>(content); }});
    }
    for (const std::string& name : removed) job.meta.files.push_back(name);
    const auto path = folder / "tarball";
    std::ofstream tarball(path, std::ios::binary);
    const auto sink = [&](std::string_view bytes) {
      tarball.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      return base::Result<void>();
    };
    const auto written = write_tarball(sink, job.meta, files);
    if (!written) throw std::runtime_error(written.error().message);
    tarball.close();
    return executor->land(job, path, stop, say);
  }

  NoStop stop;
  std::string said;
  Executor::Say say = [this](std::string_view text) { said += text; };
  std::unique_ptr<Executor> executor;
};

}  // namespace

TEST_CASE("a tarball's files land, its author's name in the check-in, and land once") {
  ExecutorWorld world;
  Job job = world.job(1);
  job.meta.author = "somebody else";
  const Outcome done = world.run(job, {{"a", {"a"}}, {"run", {"#!/bin/sh\n", 'x'}}});
  CHECK(done.verdict == Verdict::kLanded);
  REQUIRE(done.landed);
  CHECK(done.why == "landed as " + std::string(done.landed->str()));
  CHECK(world.tip() == *done.landed);
  CHECK(world.files() == FilesOf{{"a", {"a"}}, {"run", {"#!/bin/sh\n", 'x'}}});
  CHECK(world.manifest(*done.landed).find("\nU somebody\\selse\n") != std::string::npos);
  const Outcome again = world.run(job, {{"a", {"a"}}});
  CHECK(again.verdict == Verdict::kLanded);
  CHECK(again.landed == done.landed);
  CHECK(again.why.starts_with("has landed before, as "));
  CHECK(world.run(world.job(2), {}, {"a"}).verdict == Verdict::kLanded);
  CHECK(world.files() == FilesOf{{"run", {"#!/bin/sh\n", 'x'}}});
}

TEST_CASE("conflicts fail, with their lines in the log") {
  ExecutorWorld world;
  const Outcome base = world.run(world.job(1), {{"a", {"one\n"}}});
  REQUIRE(world.run(world.job(2), {{"a", {"two\n"}}}).landed);
  const Outcome done =
      world.run(world.job(3, std::string(base.landed->str())), {{"a", {"three\n"}}});
  CHECK(done.verdict == Verdict::kFailed);
  CHECK(done.why.find("do not go together in 1 file: a") != std::string::npos);
  CHECK(world.said.find("two\n") != std::string::npos);
  CHECK(world.said.find("three\n") != std::string::npos);
  CHECK_FALSE(done.landed);
}

TEST_CASE(
    "what somebody may put right is put off: a fork, a missing repository, a missing tarball") {
  ExecutorWorld world;
  const auto root = world.tip();
  world.commit(root, {{"a", {"1"}}});
  world.commit(root, {{"b", {"2"}}});
  CHECK(world.run(world.job(1), {{"c", {"c"}}}).verdict == Verdict::kPutOff);
  CHECK(world.executor->land(world.job(1), world.folder / "none", world.stop, world.say).verdict ==
        Verdict::kPutOff);
  ExecutorOptions options;
  options.repository = world.folder / "none.fossil";
  const auto executor = make_executor(options);
  CHECK(executor->land(world.job(1), world.folder / "tarball", world.stop, world.say).verdict ==
        Verdict::kPutOff);
}

TEST_CASE("a tarball that is none fails") {
  ExecutorWorld world;
  std::ofstream(world.folder / "junk") << "no tarball";
  CHECK(world.executor->land(world.job(1), world.folder / "junk", world.stop, world.say).verdict ==
        Verdict::kFailed);
}

TEST_CASE("a gate sees the merged files, and decides") {
  ExecutorWorld world(
      "cat a b\n"
      "case $(cat b) in good) exit 0;; later) exit 111;; skip) exit 99;; esac\n"
      "exit 100\n");
  world.commit(world.tip(), {{"a", {"there\n"}}});
  const auto verdict = [&](int number, const std::string& content) {
    return world.run(world.job(number), {{"b", {content}}}).verdict;
  };
  CHECK(verdict(1, "bad") == Verdict::kFailed);
  CHECK(verdict(2, "later") == Verdict::kPutOff);
  CHECK(verdict(3, "skip") == Verdict::kSkipped);
  CHECK(world.files() == FilesOf{{"a", {"there\n"}}});
  CHECK(verdict(4, "good") == Verdict::kLanded);
  CHECK(world.said.find("there\nbad") != std::string::npos);
  CHECK(world.files() == FilesOf{{"a", {"there\n"}}, {"b", {"good"}}});
}

TEST_CASE("whoever is asked to stop stops, and says so") {
  ExecutorWorld world("sleep 60\n");
  world.stop.verdict = Verdict::kTerminated;
  CHECK(world.run(world.job(1), {{"a", {"a"}}}).verdict == Verdict::kTerminated);
  world.stop.verdict = Verdict::kAbandoned;
  CHECK(world.run(world.job(1), {{"a", {"a"}}}).verdict == Verdict::kAbandoned);
  CHECK(world.files().empty());
}

TEST_CASE("a rollback takes back what landed, without asking the gate, on one branch") {
  ExecutorWorld world("test ! -e stop\n");
  std::vector<Job> jobs{world.job(1), world.job(2)};
  REQUIRE(world.run(jobs[0], {{"a", {"1"}}}).landed);
  REQUIRE(world.run(jobs[1], {{"a", {"2"}}, {"b", {"2"}}}).landed);
  world.commit(world.tip(), {{"a", {"2"}}, {"b", {"2"}}, {"stop", {""}}});
  Job rollback = world.job(3);
  rollback.meta.target.clear();
  CHECK(world.executor->take_back(rollback, {}, world.stop, world.say).verdict == Verdict::kFailed);
  const Outcome done = world.executor->take_back(rollback, {jobs[1]}, world.stop, world.say);
  CHECK(done.verdict == Verdict::kLanded);
  CHECK(world.files() == FilesOf{{"a", {"1"}}, {"stop", {""}}});
  CHECK(world.executor->take_back(rollback, {jobs[1]}, world.stop, world.say).landed ==
        done.landed);
  jobs[0].meta.target = "other";
  const Outcome mixed = world.executor->take_back(world.job(4), jobs, world.stop, world.say);
  CHECK(mixed.verdict == Verdict::kFailed);
  CHECK(mixed.why.find("several branches") != std::string::npos);
}

TEST_CASE("a repository that another file has replaced is opened anew") {
  ExecutorWorld world;
  REQUIRE(world.run(world.job(1), {{"a", {"1"}}}).landed);
  repository::test::World other;
  other.repository->checkpoint();
  std::filesystem::rename(other.file(), world.file());
  CHECK(world.run(world.job(2), {{"b", {"2"}}}).verdict == Verdict::kLanded);
  auto opened = repository::Repository::open(world.file(), {.clock = &world.clock});
  REQUIRE(opened);
  Lander lander(**opened);
  const LandingOrder second = world.order(2, {{"b", {"2"}}});
  CHECK(lander.land({&second, 1})->front()->was_there);
}
