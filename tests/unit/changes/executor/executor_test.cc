// Tests how a job and its tarball become a check-in and a verdict.

#include "quarry/changes/executor.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>
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

/// Records when it is taken and ended.
class RecordedTurn : public Turn {
 public:
  Result<void> take() override {
    text += "take ";
    return on_take();
  }
  void end() override { text += "end "; }
  bool must_give_way() override { return gives_way; }

  std::string text;
  bool gives_way = false;
  std::function<Result<void>()> on_take = [] { return Result<void>(); };
};

class ExecutorWorld : public LandingWorld {
 public:
  /// SCRIPT is the shell script of the gate. If it is empty, no gate is configured.
  explicit ExecutorWorld(const std::string& script = "", std::shared_ptr<Fence> fence = nullptr) {
    ExecutorOptions options;
    options.landing.fence = std::move(fence);
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
  Outcome run(Job job, const FilesOf& added, const std::vector<std::string>& removed = {}) {
    const auto path = pack(job, added, removed);
    return land(job, path);
  }
  Outcome land(const Job& job, const std::filesystem::path& tarball) {
    return executor->land_all({{.job = job, .tarball = tarball, .say = say}}, stop, turn, {})
        .front();
  }
  /// Makes a tarball with the files ADDED and REMOVED, and adds their names to JOB.
  std::filesystem::path pack(Job& job, const FilesOf& added,
                             const std::vector<std::string>& removed = {}) {
    std::vector<FileToSubmit> files;
    for (const auto& [name, file] : added) {
      job.meta.files.push_back(name);
      files.push_back({name, file.permission,
                       [content = file.content] { return Result<std::string>(content); }});
    }
    for (const std::string& name : removed) job.meta.files.push_back(name);
    const auto path = folder / ("tarball" + std::string(job.name.id.str()));
    std::ofstream tarball(path, std::ios::binary);
    const auto sink = [&](std::string_view bytes) {
      tarball.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      return Result<void>();
    };
    const auto written = write_tarball(sink, job.meta, files);
    if (!written) throw std::runtime_error(written.error().message);
    tarball.close();
    return path;
  }
  /// Makes a task for the job NUMBER, which adds one file with CONTENT.
  Executor::Task task(int number, const std::string& content) {
    Executor::Task task{.job = job(number), .tarball = {}, .say = {}};
    task.tarball = pack(task.job, {{"f" + std::to_string(number), {content}}});
    task.say = [this, number](std::string_view text) { said_of[number] += text; };
    return task;
  }

  NoStop stop;
  RecordedTurn turn;
  std::string said;
  std::map<int, std::string> said_of;
  Executor::Say say = [this](std::string_view text) { said += text; };
  std::unique_ptr<Executor> executor;
};

}  // namespace

TEST_CASE("a tarball's files land once, under the author's name") {
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
  CHECK(again.why.starts_with("had already landed as "));
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
  CHECK(done.why.find("in 1 file: a") != std::string::npos);
  CHECK(world.said.find("two\n") != std::string::npos);
  CHECK(world.said.find("three\n") != std::string::npos);
  CHECK_FALSE(done.landed);
}

TEST_CASE("problems that can be repaired defer a job: a fork, a missing repository or tarball") {
  ExecutorWorld world;
  const auto root = world.tip();
  world.commit(root, {{"a", {"1"}}});
  world.commit(root, {{"b", {"2"}}});
  CHECK(world.run(world.job(1), {{"c", {"c"}}}).verdict == Verdict::kDeferred);
  const Outcome done = world.land(world.job(1), world.folder / "none");
  CHECK(done.verdict == Verdict::kDeferred);
  CHECK(done.why.find('/') == std::string::npos);
  ExecutorOptions options;
  options.repository = world.folder / "none.fossil";
  world.executor = make_executor(options);
  const auto task = world.task(1, "c");
  const Outcome missing = world.land(task.job, task.tarball);
  CHECK(missing.verdict == Verdict::kDeferred);
  CHECK(missing.why.find('/') == std::string::npos);
}

TEST_CASE("cached content lands without reading the tarball again, unless it is damaged") {
  ExecutorWorld world;
  for (const bool is_damaged : {false, true}) {
    CAPTURE(is_damaged);
    const int number = is_damaged ? 2 : 1;
    Job job = world.job(number);
    const auto path = world.pack(job, {{"f" + std::to_string(number), {"kept\n"}}});
    {
      const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      const auto content = read_tarball(file.get(), {}, world.folder.path());
      REQUIRE(content);
      REQUIRE(keep_content(*content, world.folder.path(), job.name));
    }
    REQUIRE(has_content(world.folder.path(), job.name));
    if (is_damaged) {
      std::filesystem::resize_file(world.folder / (job.name.text() + std::string(kKeptContent)), 9);
    } else {
      std::ofstream(path) << "no tarball any more";
    }
    CHECK(world.land(job, path).verdict == Verdict::kLanded);
    CHECK_FALSE(has_content(world.folder.path(), job.name));
  }
  CHECK(world.files() == FilesOf{{"f1", {"kept\n"}}, {"f2", {"kept\n"}}});
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
  CHECK(verdict(2, "later") == Verdict::kDeferred);
  CHECK(verdict(3, "skip") == Verdict::kSkipped);
  CHECK(world.files() == FilesOf{{"a", {"there\n"}}});
  CHECK(verdict(4, "good") == Verdict::kLanded);
  CHECK(world.said.find("there\nbad") != std::string::npos);
  CHECK(world.files() == FilesOf{{"a", {"there\n"}}, {"b", {"good"}}});
}

TEST_CASE("a gate runs again during the turn to land if the branch moved before") {
  ExecutorWorld world("echo runs\n");
  const auto runs = [&] {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = world.said.find("runs\n", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  CHECK(world.run(world.job(1), {{"a", {"1"}}}).verdict == Verdict::kLanded);
  CHECK(world.turn.text == "take end ");
  CHECK(runs() == 1);
  world.turn.on_take = [&]() -> Result<void> {
    world.commit(world.tip(), {{"a", {"1"}}, {"other", {"1"}}});
    return {};
  };
  CHECK(world.run(world.job(2), {{"a", {"2"}}}).verdict == Verdict::kLanded);
  CHECK(world.turn.text == "take end take end ");
  CHECK(runs() == 3);
  CHECK(world.said.find("the branch trunk has moved: the gate runs again") != std::string::npos);
  CHECK(world.files() == FilesOf{{"a", {"2"}}, {"other", {"1"}}});
  world.turn.on_take = [] { return fail(ErrorCode::kBusy, "interrupted"); };
  CHECK(world.run(world.job(3), {{"a", {"3"}}}).verdict == Verdict::kDeferred);
  CHECK(world.turn.text == "take end take end take end ");
}

TEST_CASE("a job lands without a turn if no gate accepts it") {
  ExecutorWorld world("exit 1\n");
  CHECK(world.run(world.job(1), {{"a", {"1"}}}).verdict == Verdict::kFailed);
  CHECK(world.turn.text.empty());
  ExecutorWorld without_gate;
  CHECK(without_gate.run(without_gate.job(1), {{"a", {"1"}}}).verdict == Verdict::kLanded);
  CHECK(without_gate.turn.text.empty());
}

TEST_CASE("rights are checked again when a change set lands") {
  ExecutorWorld world("exit 0\n");
  const auto set_capabilities = [&](const std::string& letters) {
    world.receive([&](repository::Receipt& receipt) {
      const auto text = [](std::string value) {
        return repository::SqlLiteral{
            .kind = repository::SqlLiteral::Kind::kText, .integer = 0, .bytes = std::move(value)};
      };
      static std::int64_t mtime = 4'000'000'000;
      REQUIRE(receipt.merge_config({.table = "user",
                                    .mtime = ++mtime,
                                    .key = "bob",
                                    .columns = {{"cap", text(letters)}, {"pw", text("")}}}));
    });
  };
  const auto land = [&](int number, const auto& change) {
    Job job = world.job(number);
    job.submitter = "bob";
    change(job);
    return world.run(job, {{"f" + std::to_string(number), {"1"}}});
  };
  const auto unchanged = [](Job&) {};
  CHECK(land(1, unchanged).why == "the submitter, bob, is no longer a user of the repository");
  CHECK(land(2, [](Job& job) { job.is_local = true; }).verdict == Verdict::kLanded);
  set_capabilities("i");
  CHECK(land(3, unchanged).verdict == Verdict::kLanded);
  const Outcome author = land(4, [](Job& job) { job.meta.author = "ann"; });
  CHECK(author.verdict == Verdict::kFailed);
  CHECK(author.why.find("changes.author") != std::string::npos);
  // The approver might have set the reference, so the submitter does not need a right for it.
  CHECK(land(5, [](Job& job) { job.meta.approval = "ticket"; }).verdict == Verdict::kLanded);
  CHECK(land(6, [](Job& job) { job.name.type = MoveType::kEmergency; }).verdict ==
        Verdict::kFailed);
  world.turn.on_take = [&]() -> Result<void> {
    set_capabilities("o");
    return {};
  };
  const Outcome revoked = land(7, unchanged);
  CHECK(revoked.verdict == Verdict::kFailed);
  CHECK(revoked.why ==
        "not permitted: submitting (changes.submit = i); the rights of bob have changed since the "
        "submission");
  Job rollback = world.job(8);
  rollback.submitter = "bob";
  rollback.name.type = MoveType::kRollback;
  Job landed = world.job(3);
  landed.submitter = "bob";
  const Outcome back = world.executor->roll_back(rollback, {landed}, world.stop, world.say);
  CHECK(back.verdict == Verdict::kFailed);
  CHECK(back.why.find("changes.rollback") != std::string::npos);
}

TEST_CASE("a gate sees symbolic links only if the repository makes them") {
  ExecutorWorld world("test -L link && exit 100\nexit 0\n");
  CHECK(world.run(world.job(1), {{"link", {"to", 'l'}}}).verdict == Verdict::kLanded);
  world.receive(
      [&](repository::Receipt& receipt) { REQUIRE(receipt.set_config("allow-symlinks", "1")); });
  CHECK(world.run(world.job(2), {{"b", {"b"}}}).verdict == Verdict::kFailed);
}

TEST_CASE("if a gate rejects a batch, only the jobs at fault fail, each for its own reason") {
  ExecutorWorld world(
      "test $(echo \"$QUARRY_CHANGE_SET\" | wc -l) = $(wc -l < $QUARRY_FILES) || exit 111\n"
      "! grep -H bad f*\n");
  std::vector<Executor::Task> tasks;
  for (int number = 1; number <= 8; ++number) {
    tasks.push_back(world.task(number, number == 3 || number == 6 ? "bad\n" : "good\n"));
  }
  const auto parent = world.tip();
  const auto outcomes = world.executor->land_all(tasks, world.stop, world.turn, {});
  REQUIRE(outcomes.size() == 8);
  FilesOf landed;
  for (int number = 1; number <= 8; ++number) {
    CAPTURE(number);
    const std::string file = "f" + std::to_string(number);
    const Outcome& outcome = outcomes[static_cast<std::size_t>(number - 1)];
    const bool is_bad = number == 3 || number == 6;
    CHECK(outcome.verdict == (is_bad ? Verdict::kFailed : Verdict::kLanded));
    CHECK(outcome.landed.has_value() == !is_bad);
    CHECK((world.said_of[number].find(file + ":bad") != std::string::npos) == is_bad);
    if (!is_bad) landed[file] = {"good\n"};
  }
  CHECK(world.said_of[1].find("one run for 8 change sets") != std::string::npos);
  CHECK(world.files() == landed);
  CHECK(world.tip() == outcomes[7].landed);
  CHECK(world.tip() != parent);
  // Each change set becomes a separate check-in.
  CHECK(world.manifest(*outcomes[7].landed).find("\nP " + std::string(outcomes[6].landed->str())) !=
        std::string::npos);
  CHECK(world.manifest(*outcomes[3].landed).find("\nP " + std::string(outcomes[1].landed->str())) !=
        std::string::npos);
  const auto again = world.executor->land_all({tasks[0], tasks[7]}, world.stop, world.turn, {});
  CHECK(again[0].landed == outcomes[0].landed);
  CHECK(again[1].landed == outcomes[7].landed);
}

TEST_CASE("a half of a batch lands before the gate runs for the other, which can give way") {
  ExecutorWorld world("! grep -H bad f*\n");
  std::vector<Executor::Task> tasks;
  for (int number = 1; number <= 8; ++number) {
    tasks.push_back(world.task(number, number == 5 ? "bad\n" : "good\n"));
  }
  std::size_t landed = 0;
  const auto outcomes =
      world.executor->land_all(tasks, world.stop, world.turn, [&](std::span<const Outcome> first) {
        landed = first.size();
        CHECK(first.back().landed == world.tip());
        world.turn.gives_way = true;
      });
  CHECK(landed == 4);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CHECK(outcomes[i].verdict == (i < landed ? Verdict::kLanded : Verdict::kGaveWay));
  }
}

TEST_CASE("a job that cannot land, or has no valid tarball, does not delay others") {
  ExecutorWorld world;
  const auto base = world.commit(world.tip(), {{"f2", {"one\n"}}});
  world.commit(base, {{"f2", {"two\n"}}});
  std::vector<Executor::Task> tasks;
  for (int number = 1; number <= 4; ++number) tasks.push_back(world.task(number, "it\n"));
  tasks[1].job.meta.base = std::string(base.str());
  std::ofstream(tasks[2].tarball) << "no tarball";
  const auto outcomes = world.executor->land_all(tasks, world.stop, world.turn, {});
  CHECK(outcomes[0].verdict == Verdict::kLanded);
  CHECK(outcomes[1].verdict == Verdict::kFailed);
  CHECK(outcomes[2].verdict == Verdict::kFailed);
  CHECK(outcomes[3].verdict == Verdict::kLanded);
  CHECK(world.files() == FilesOf{{"f1", {"it\n"}}, {"f2", {"two\n"}}, {"f4", {"it\n"}}});
}

TEST_CASE(
    "jobs with the same files land on top of each other, and one that conflicts fails alone") {
  ExecutorWorld world;
  const auto base = world.commit(world.tip(), {{"f", {"one\n"}}});
  std::vector<Executor::Task> tasks;
  for (int number = 1; number <= 3; ++number) {
    tasks.push_back({.job = world.job(number, number == 2 ? std::string(base.str()) : ""),
                     .tarball = {},
                     .say = world.say});
    tasks.back().tarball =
        world.pack(tasks.back().job, {{"f", {"version " + std::to_string(number) + "\n"}}});
  }
  const auto outcomes = world.executor->land_all(tasks, world.stop, world.turn, {});
  CHECK(outcomes[0].verdict == Verdict::kLanded);
  CHECK(outcomes[1].verdict == Verdict::kFailed);
  CHECK(outcomes[2].verdict == Verdict::kLanded);
  CHECK(world.tip() == outcomes[2].landed);
  CHECK(world.manifest(*outcomes[2].landed).find("\nP " + std::string(outcomes[0].landed->str())) !=
        std::string::npos);
  CHECK(world.files() == FilesOf{{"f", {"version 3\n"}}});
}

TEST_CASE("a deferred job is not overtaken by jobs that may touch the same files") {
  ExecutorWorld world;
  std::vector<Executor::Task> tasks;
  for (int number = 1; number <= 4; ++number) tasks.push_back(world.task(number, "it\n"));
  std::filesystem::remove(tasks[1].tarball);
  const auto outcomes = world.executor->land_all(tasks, world.stop, world.turn, {});
  CHECK(outcomes[0].verdict == Verdict::kLanded);
  CHECK(outcomes[1].verdict == Verdict::kDeferred);
  CHECK(outcomes[2].verdict == Verdict::kDeferred);
  CHECK(outcomes[3].verdict == Verdict::kDeferred);
  CHECK(outcomes[3].why.find("a change set ahead of it was deferred") != std::string::npos);
  CHECK(world.files() == FilesOf{{"f1", {"it\n"}}});
}

TEST_CASE("a gate that defers a batch defers all of its jobs") {
  ExecutorWorld world("exit 111\n");
  const auto outcomes = world.executor->land_all({world.task(1, "a"), world.task(2, "b")},
                                                 world.stop, world.turn, {});
  CHECK(outcomes[0].verdict == Verdict::kDeferred);
  CHECK(outcomes[1].verdict == Verdict::kDeferred);
}

TEST_CASE("a job stops when asked to, with a verdict that says so") {
  ExecutorWorld world("sleep 60\n");
  world.stop.verdict = Verdict::kTerminated;
  CHECK(world.run(world.job(1), {{"a", {"a"}}}).verdict == Verdict::kTerminated);
  world.stop.verdict = Verdict::kAbandoned;
  CHECK(world.run(world.job(1), {{"a", {"a"}}}).verdict == Verdict::kAbandoned);
  CHECK(world.files().empty());
}

TEST_CASE("a rollback of landed change sets on one branch runs without a gate") {
  ExecutorWorld world("test ! -e stop\n");
  std::vector<Job> jobs{world.job(1), world.job(2)};
  REQUIRE(world.run(jobs[0], {{"a", {"1"}}}).landed);
  REQUIRE(world.run(jobs[1], {{"a", {"2"}}, {"b", {"2"}}}).landed);
  world.commit(world.tip(), {{"a", {"2"}}, {"b", {"2"}}, {"stop", {""}}});
  Job rollback = world.job(3);
  rollback.meta.target.clear();
  CHECK(world.executor->roll_back(rollback, {}, world.stop, world.say).verdict == Verdict::kFailed);
  const Outcome done = world.executor->roll_back(rollback, {jobs[1]}, world.stop, world.say);
  CHECK(done.verdict == Verdict::kLanded);
  CHECK(world.files() == FilesOf{{"a", {"1"}}, {"stop", {""}}});
  CHECK(world.executor->roll_back(rollback, {jobs[1]}, world.stop, world.say).landed ==
        done.landed);
  jobs[0].meta.target = "other";
  const Outcome mixed = world.executor->roll_back(world.job(4), jobs, world.stop, world.say);
  CHECK(mixed.verdict == Verdict::kFailed);
  CHECK(mixed.why.find("one rollback per branch") != std::string::npos);
}

TEST_CASE("a repository whose file was replaced is opened again") {
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

TEST_CASE("a change set that other hosts do not confirm waits, and does not fail") {
  class Silent final : public Fence {
   public:
    Result<bool> publish(repository::Repository&) override {
      return fail(ErrorCode::kIo, "no server of the stream answers");
    }
    Result<void> catch_up() override { return {}; }
  };
  ExecutorWorld world("", std::make_shared<Silent>());
  const Outcome outcome = world.run(world.job(1), {{"a", {"1"}}});
  CHECK(outcome.verdict == Verdict::kNoRoom);
  CHECK(outcome.why == "the other hosts have not confirmed the check-in");
}
