#include "quarry/changes/rules.h"

#include <doctest/doctest.h>

#include "model_world.h"

using namespace quarry::changes;
using quarry::base::UnixMillis;

namespace {

Job some_job() {
  Job job;
  job.name = name_of(1);
  job.meta.target = "trunk";
  job.meta.files = {"a"};
  job.add_history({1000}, Stage::kPending, "");
  return job;
}

}  // namespace

TEST_CASE("temporary errors defer a job with growing delays, until it fails") {
  Rules rules;
  rules.max_deferrals = 3;
  rules.longest_delay = std::chrono::seconds(12);
  Job job = some_job();
  job.history.back().why = "busy";
  CHECK(model_job_of(job, Stage::kPending, rules).deferral_reason.empty());
  for (const std::int64_t delay : {5'000, 10'000, 12'000}) {
    CHECK(step_after(job, Verdict::kDeferred, "busy", rules).to == Stage::kPending);
    CHECK(model_job_of(job, Stage::kPending, rules).not_before == UnixMillis{1000 + delay});
  }
  CHECK(model_job_of(job, Stage::kPending, rules).deferral_reason == "busy");
  const Step step = step_after(job, Verdict::kDeferred, "busy", rules);
  CHECK(step.to == Stage::kFail);
  CHECK(step.why == "deferred 3 times; last reason: busy");
}

TEST_CASE("a job waits for space on a full disk without limit, and does not fail") {
  Rules rules;
  rules.max_deferrals = 2;
  Job job = some_job();
  for (int i = 0; i < 100; ++i) {
    CHECK(step_after(job, Verdict::kNoRoom, "full", rules).to == Stage::kPending);
    CHECK(model_job_of(job, Stage::kPending, rules).not_before > UnixMillis{1000});
  }
  rules.max_deferrals = 0;
  job = some_job();
  CHECK(step_after(job, Verdict::kNoRoom, "full", rules).to == Stage::kPending);
  CHECK(model_job_of(job, Stage::kPending, rules).not_before > UnixMillis{1000});
}

TEST_CASE("a reference that the submitter gave does not approve a job") {
  Rules rules;
  rules.needs_approval.fill(true);
  Job job = some_job();
  job.meta.approval = "ticket 1";
  CHECK_FALSE(model_job_of(job, Stage::kQueue, rules).is_approved);
  job.approver = "eve";
  CHECK(model_job_of(job, Stage::kQueue, rules).is_approved);
}

TEST_CASE("the time of landing is that of the first line in done/") {
  Job job = some_job();
  job.add_history({2000}, Stage::kDone, "landed");
  job.add_history({3000}, Stage::kDone, "rolled back");
  CHECK(model_job_of(job, Stage::kDone, {}).landed_at == UnixMillis{2000});
}
