#include "quarry/changes/rights.h"

#include <doctest/doctest.h>

#include <string>

#include "quarry/changes/options.h"

using namespace quarry::changes;

namespace {

const Actor kReader{"rob", "o"};
const Actor kWriter{"ann", "i"};
const Actor kAdministrator{"eve", "a"};
const Actor kOwner{"sue", "s"};
const Actor kNobody{"nobody", ""};

Rights with(Right right, const char* text) {
  Rights rights;
  rights.allowed[static_cast<std::size_t>(right)] = *Allowed::parse(text);
  return rights;
}

/// Returns the actions that ACTOR may perform on SUBMITTER's change set.
std::string rights_of(const Actor& actor, std::string_view submitter) {
  std::string all;
  for (std::size_t i = 0; i < kRights; ++i) {
    const auto right = static_cast<Right>(i);
    if (may(Rights(), right, actor, submitter)) all += std::string(word_of(right)) + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("by default writers submit and administrators do the rest") {
  CHECK(rights_of(kNobody, "ann").empty());
  CHECK(rights_of(kReader, "ann").empty());
  CHECK(rights_of(kWriter, "bob") == "submit ");
  CHECK(rights_of(kWriter, "ann") == "submit abandon ");
  const std::string all = "submit emergency author approve rollback hold retry abandon freeze ";
  CHECK(rights_of(kAdministrator, "ann") == all);
  CHECK(rights_of(kOwner, "ann") == all);
}

TEST_CASE("nobody approves their own change sets") {
  for (const Actor& actor : {kAdministrator, kOwner}) {
    CHECK_FALSE(may(Rights(), Right::kApprove, actor, actor.login));
  }
  const Rights named = with(Right::kApprove, "@ann");
  CHECK_FALSE(may(named, Right::kApprove, kWriter, "ann"));
  CHECK(may(named, Right::kApprove, kWriter, "bob"));
}

TEST_CASE("a user who lost the right to submit cannot abandon earlier submissions") {
  CHECK_FALSE(may(Rights(), Right::kAbandon, {"ann", "o"}, "ann"));
}

TEST_CASE("a named user needs no capability, and none allows nobody") {
  const Rights named = with(Right::kHold, "@rob");
  CHECK(may(named, Right::kHold, kReader));
  CHECK_FALSE(may(named, Right::kHold, kOwner));
  for (const Actor& actor : {kNobody, kReader, kWriter, kAdministrator, kOwner}) {
    CHECK_FALSE(may(with(Right::kFreeze, "none"), Right::kFreeze, actor));
  }
  // An anonymous user has an empty name, and must not match a submission without a submitter.
  CHECK_FALSE(may(Rights(), Right::kAbandon, {"", ""}, ""));
}

TEST_CASE("an emergency, another author and an approval need more rights than a submission") {
  Meta meta;
  CHECK_FALSE(objection(Rights(), meta, kWriter));
  CHECK(objection(Rights(), meta, kReader) == "not permitted: submitting (changes.submit = i)");
  meta.type = MoveType::kEmergency;
  CHECK(objection(Rights(), meta, kWriter) ==
        "not permitted: submitting an emergency (changes.emergency = a)");
  CHECK_FALSE(objection(Rights(), meta, kAdministrator));
  meta.type = MoveType::kDevelopment;
  meta.author = "ann";
  CHECK_FALSE(objection(Rights(), meta, kWriter));
  meta.author = "bob";
  CHECK(objection(Rights(), meta, kWriter) ==
        "not permitted: naming another author (##author) (changes.author = a)");
  CHECK_FALSE(objection(Rights(), meta, kAdministrator));
  meta.author.clear();
  meta.approval = "ticket 1";
  CHECK(objection(Rights(), meta, kWriter) ==
        "not permitted: giving an approval (##approval) (changes.approve = a)");
  CHECK_FALSE(objection(Rights(), meta, kAdministrator));
}

TEST_CASE("a rollback needs its own right, not that of writers") {
  Meta meta;
  meta.type = MoveType::kRollback;
  CHECK(objection(Rights(), meta, kWriter) ==
        "not permitted: submitting a rollback (changes.rollback = a)");
  CHECK_FALSE(objection(with(Right::kRollback, "@rob"), meta, kReader));
}

TEST_CASE("rights are read as they are written") {
  for (const char* text : {"i", "a s", "@ann", "i @ann @b.c", "none"}) {
    CHECK(Allowed::parse(text)->text() == text);
  }
  CHECK(Allowed::parse(" a,s,  @ann ,")->text() == "a s @ann");
  for (const char* text : {"", " ", "as", "@", "ann", "none a", "-", "a b cd", "a;b"}) {
    CAPTURE(text);
    CHECK_FALSE(Allowed::parse(text));
  }
}

TEST_CASE("move types are read as they are written") {
  for (const char* text : {"none", "EM", "RB EM BF DC"}) {
    CHECK(text_of(*parse_move_types(text)) == text);
  }
  CHECK(text_of(*parse_move_types("DC, EM")) == "EM DC");
  CHECK_FALSE(parse_move_types("em"));
  CHECK_FALSE(parse_move_types("DC none"));
}

TEST_CASE("without a gate many change sets land together") {
  PoolOptions options;
  CHECK(batch_of(options) == 32);
  options.gate.program = "/bin/true";
  CHECK(batch_of(options) == 1);
  options.batch = 7;
  CHECK(batch_of(options) == 7);
}

TEST_CASE("a queue is next to its repository, or in a separate folder under the same name") {
  PoolOptions options;
  CHECK(queue_base(options, "/srv/team/x.fossil", "team/x") == "/srv/team/x.fossil.changes");
  options.base = "/var/queues";
  CHECK(queue_base(options, "/srv/team/x.fossil", "team/x") == "/var/queues/team/x.changes");
  CHECK(queue_base(options, "/srv/x.fossil", "") == "/var/queues/x.changes");
}
