#include "quarry/changes/job.h"

#include <doctest/doctest.h>

#include <string>

#include "quarry/base/result.h"

using namespace quarry::changes;
using quarry::base::ErrorCode;

namespace {

ChangeSetName name(MoveType type = MoveType::kDevelopment) {
  return {.id = *ChangeSetId::parse("0123456789abcdef"),
          .tai = tai64n({1'700'000'000'000}),
          .pid = 1,
          .host = "h",
          .type = type,
          .extra = "ann"};
}

Job full_job() {
  Job job;
  job.name = name();
  job.meta.target = "trunk";
  job.meta.files = {"a"};
  job.meta.comment = "c";
  job.meta.others = {{"x", {"y"}}};
  job.submitter = "ann of the queue";
  job.capabilities = "abeio";
  job.is_local = true;
  job.address = "192.0.2.1";
  job.crashes = 2;
  job.deferrals = 3;
  job.held = "bob: wait for the release";
  job.approver = "eve";
  job.landed = quarry::artifact::HashName::parse(std::string(64, 'a'));
  job.closure = {*ChangeSetId::parse("00000000000000aa")};
  job.rolled_back = RolledBack{.by = *ChangeSetId::parse("00000000000000bb"), .from = Stage::kRun};
  job.add_history({1'700'000'000'001}, Stage::kQueue, "submitted");
  job.add_history({1'700'000'000'002}, Stage::kDone, "");
  return job;
}

std::string job_error(std::string_view more, ErrorCode code = ErrorCode::kInvalid) {
  const auto job =
      Job::parse(name(), "##movetype\nDC\n##target\nt\n##files\na\n" + std::string(more));
  REQUIRE_FALSE(job);
  CHECK(job.error().code == code);
  return job.error().message;
}

}  // namespace

TEST_CASE("every section of a job file is read as written") {
  const Job job = full_job();
  const auto again = Job::parse(job.name, job.text());
  REQUIRE(again);
  CHECK(*again == job);
  CHECK(again->text() == job.text());
}

TEST_CASE("the move type of a job is that of its name") {
  CHECK_FALSE(Job::parse(name(MoveType::kEmergency), full_job().text()));
}

TEST_CASE("the error describes the mistake in a job file") {
  CHECK(job_error("##submitter\nann\nio\nremote\n").starts_with("##submitter:"));
  CHECK(job_error("##attempts\n1\n").starts_with("##attempts:"));
  CHECK(job_error("##attempts\n1 -2\n").starts_with("##attempts:"));
  CHECK(job_error("##landed\nabc\n").starts_with("##landed:"));
  CHECK(job_error("##rollback\n0123456789abcdef nowhere\n").starts_with("##rollback:"));
  CHECK(job_error("##closure\nx\n").starts_with("##closure:"));
  CHECK(job_error("##history\nyesterday Q x\n").starts_with("##history:"));
  CHECK(job_error("##history\n2026-01-02T03:04:05.678 Z x\n").starts_with("##history:"));
  CHECK(job_error("##history\n9999-12-31T23:59:59.9999 Q x\n").starts_with("##history:"));
  CHECK(job_error("##submitter\na\nb\nlocal\nd\n", ErrorCode::kLimit).starts_with("##submitter:"));
}

TEST_CASE("a history that grows too long loses its middle") {
  Job job = full_job();
  job.history.clear();
  for (std::size_t i = 0; i < kMaxHistory + 50; ++i) {
    job.add_history({static_cast<std::int64_t>(i)}, Stage::kPending, std::to_string(i));
  }
  CHECK(job.history.size() == kMaxHistory);
  CHECK(job.history.front().why == "0");
  CHECK(job.history.back().why == std::to_string(kMaxHistory + 49));
  CHECK(Job::parse(job.name, job.text()));
}

TEST_CASE("the reason in the history is one line, whatever its text") {
  Job job = full_job();
  job.add_history({0}, Stage::kFail, "a\nb\r##history\x1b[31m\xff");
  job.add_history({0}, Stage::kFail, std::string(kMaxWhy, 'x') + "ü");
  const auto again = Job::parse(job.name, job.text());
  REQUIRE(again);
  CHECK(*again == job);
  CHECK(again->history[2].why == "a\\x0ab\\x0d##history\\x1b[31m\\xff");
  CHECK(again->history[3].why == std::string(kMaxWhy, 'x'));
}

TEST_CASE("stages have words, folders and letters") {
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    CHECK(stage_named(word_of(stage)) == stage);
    CHECK(stage_of_folder(folder_of(stage)) == stage);
    if (stage != Stage::kPrequeue) CHECK(stage_with(letter_of(stage)) == stage);
    CHECK(is_over(stage) ==
          (std::string_view("DFTA").find(letter_of(stage)) != std::string_view::npos));
  }
  CHECK_FALSE(stage_named("tmp"));
  CHECK(letter_of(Stage::kRun) == 'X');
  CHECK(word_of(Stage::kRun) == "running");
  CHECK(folder_of(Stage::kRun) == "run");
}
