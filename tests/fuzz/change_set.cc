// Input: bytes that are parsed as a change set's name, as a meta file and as a job file. If a
// parsed value is written and parsed again, the second value must equal the first.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "quarry/changes/change_set.h"
#include "quarry/changes/job.h"
#include "require.h"

using namespace quarry::changes;

namespace {

void read_name(std::string_view text) {
  const auto name = ChangeSetName::parse(text);
  if (name) REQUIRE(name->text() == text);
}

void read_meta(std::string_view text) {
  const auto meta = Meta::parse(text);
  if (!meta) return;
  const auto again = Meta::parse(meta->text());
  REQUIRE(again && *again == *meta);
}

void read_job(std::string_view text) {
  for (std::size_t type = 0; type < kMoveTypes; ++type) {
    const ChangeSetName name{.id = *ChangeSetId::parse("0123456789abcdef"),
                             .tai = tai64n({0}),
                             .pid = 0,
                             .host = "h",
                             .type = static_cast<MoveType>(type),
                             .extra = {}};
    const auto job = Job::parse(name, text);
    if (!job) continue;
    const auto again = Job::parse(name, job->text());
    REQUIRE(again && *again == *job);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read_name(input);
  read_meta(input);
  read_job(input);
  return 0;
}
