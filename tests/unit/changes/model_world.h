// Jobs for tests of the model. A job's number is also its time.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "quarry/changes/model.h"

namespace quarry::changes {

inline ChangeSetId id_of(std::uint64_t number) {
  return *ChangeSetId::parse(fmt::format("{:016x}", number));
}

inline std::uint64_t number_of(const ChangeSetId& id) {
  return std::stoull(std::string(id.str()), nullptr, 16);
}

inline ChangeSetName name_of(std::uint64_t number, MoveType type = MoveType::kDevelopment) {
  return {.id = id_of(number),
          .tai = tai64n({static_cast<std::int64_t>(number)}),
          .pid = 1,
          .host = "h",
          .type = type,
          .extra = {}};
}

/// Makes a job that is in queue/.
inline ModelJob job_of(std::uint64_t number, std::vector<std::string> files,
                       std::vector<std::uint64_t> dependencies = {},
                       MoveType type = MoveType::kDevelopment) {
  ModelJob known;
  known.name = name_of(number, type);
  known.stage = Stage::kQueue;
  known.branch = "trunk";
  known.files = std::move(files);
  for (const std::uint64_t one : dependencies) known.dependencies.push_back(id_of(one));
  return known;
}

inline void move(Model& model, std::uint64_t number, Stage stage) {
  ModelJob known = *model.find(id_of(number));
  known.stage = stage;
  model.put(known);
}

inline std::vector<std::uint64_t> numbers_of(const std::vector<ChangeSetId>& ids) {
  std::vector<std::uint64_t> numbers;
  for (const ChangeSetId& id : ids) numbers.push_back(number_of(id));
  return numbers;
}

}  // namespace quarry::changes
