#include "cards/card_tally.h"

#include <doctest/doctest.h>

using quarry::sync::CardTally;
using quarry::sync::CardType;

TEST_CASE("progress lists the counts by type") {
  CardTally tally;
  CHECK(tally.in("beginning") == "beginning");
  tally.card(CardType::kIgot);
  tally.card(CardType::kFile);
  tally.card(CardType::kIgot);
  CHECK(tally.in("reading cards") == "reading cards: 1 file, 2 igot");
}

TEST_CASE("the first cards are reported, many of one type rarely") {
  CardTally tally;
  CHECK(tally.card(CardType::kLogin));
  CHECK(tally.card(CardType::kPush));
  int reports = 0;
  for (int i = 0; i < 100000; ++i) reports += tally.card(CardType::kIgot) ? 1 : 0;
  CHECK(reports >= 90);
  CHECK(reports <= 150);
}

TEST_CASE("a change of type is reported soon, but not for every other card") {
  CardTally tally;
  for (int i = 0; i < 100; ++i) tally.card(CardType::kIgot);
  CHECK(tally.card(CardType::kFile));
  int reports = 0;
  for (int i = 0; i < 320; ++i) {
    reports += tally.card(i % 2 == 0 ? CardType::kIgot : CardType::kFile) ? 1 : 0;
  }
  CHECK(reports >= 5);
  CHECK(reports <= 15);
}
