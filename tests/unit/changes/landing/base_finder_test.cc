#include "quarry/changes/base_finder.h"

#include <doctest/doctest.h>

#include <string>

#include "landing_world.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;

namespace {

Meta meta_on(const std::string& target, const std::string& base = {}) {
  Meta meta;
  meta.target = target;
  meta.base = base;
  return meta;
}

}  // namespace

TEST_CASE("the base is the check-in that a name meant at the submission") {
  LandingWorld world;
  const HashName one = world.landed(world.order(1, {{"a", {"1"}}}));
  const std::int64_t receipt = std::stoll(world.sql("SELECT max(rcvid) FROM rcvfrom"));
  const HashName two = world.landed(world.order(2, {{"a", {"2"}}}));
  BaseFinder bases(world.file());
  CHECK(bases.find(meta_on("trunk"), receipt) == one.str());
  CHECK(bases.find(meta_on("trunk", "trunk"), receipt) == one.str());
  CHECK(bases.find(meta_on("trunk"), std::nullopt) == two.str());
  CHECK(bases.find(meta_on("trunk", std::string(two.str().substr(0, 10))), receipt) == two.str());
  const auto missing = bases.find(meta_on("trunk", "no"), receipt);
  CHECK(missing.error().code == ErrorCode::kInvalid);
  CHECK(missing.error().message == "its base: check-in no does not exist");
  CHECK(bases.find(meta_on("nowhere"), receipt).error().message == "branch nowhere does not exist");
  Meta merge = meta_on("trunk", std::string(two.str()));
  for (const HashName& part : {one, two}) {
    merge.merges = {{MergeKind::kMerge, part}};
    const auto refused = bases.find(merge, receipt);
    CHECK(refused.error().code == ErrorCode::kInvalid);
    CHECK(refused.error().message.starts_with("##merges: " + std::string(part.str())));
    CHECK(refused.error().message.ends_with("nothing to merge"));
    merge.merges = {{MergeKind::kMerge, *HashName::parse(part.str().substr(0, 40))}};
    CHECK_FALSE(bases.find(merge, receipt));
    merge.merges = {{MergeKind::kBackout, part}};
    CHECK(bases.find(merge, receipt) == two.str());
  }
  merge.base = one.str();
  merge.merges = {{MergeKind::kMerge, two}};
  CHECK(bases.find(merge, receipt) == one.str());
  Meta rollback = meta_on("");
  rollback.type = MoveType::kRollback;
  CHECK(bases.find(rollback, receipt) == std::string());
  CHECK(BaseFinder(world.folder / "none").find(meta_on("trunk"), 1).error().code == ErrorCode::kIo);
}
