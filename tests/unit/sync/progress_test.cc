#include "progress.h"

#include <doctest/doctest.h>

using quarry::sync::CardType;
using quarry::sync::Progress;

TEST_CASE("progress names what was counted, by kind") {
  Progress progress;
  CHECK(progress.in("beginning") == "beginning");
  progress.card(CardType::kIgot);
  progress.card(CardType::kFile);
  progress.card(CardType::kIgot);
  CHECK(progress.in("reading cards") == "reading cards: 1 file, 2 igot");
}

TEST_CASE("the first cards are told, many of a kind seldom") {
  Progress progress;
  CHECK(progress.card(CardType::kLogin));
  CHECK(progress.card(CardType::kPush));
  int told = 0;
  for (int i = 0; i < 100000; ++i) told += progress.card(CardType::kIgot) ? 1 : 0;
  CHECK(told >= 90);
  CHECK(told <= 150);
}

TEST_CASE("a change of kind is told soon, but not at every other card") {
  Progress progress;
  for (int i = 0; i < 100; ++i) progress.card(CardType::kIgot);
  CHECK(progress.card(CardType::kFile));
  int told = 0;
  for (int i = 0; i < 320; ++i) {
    told += progress.card(i % 2 == 0 ? CardType::kIgot : CardType::kFile) ? 1 : 0;
  }
  CHECK(told >= 5);
  CHECK(told <= 15);
}
