// A row of `blob` that arrived with a request: whether it can be reported, and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quarry/repository/arrivals.h"
#include "repository_state.h"

namespace quarry::repository {

struct ReceivedRow {
  std::int64_t receipt;
  Rid rid;
  std::string hash;
  std::int64_t size;  // negative for a phantom
};

enum class Readiness {
  kReady,
  kNotYet,  // incomplete or private
  kNever    // shunned, or not an artifact
};

/// Whether POSITION comes after MARK.
bool is_after(const ArrivalMark& position, const ArrivalMark& mark);

// These throw SqliteError.

Readiness readiness_of(Repository::State& state, const ReceivedRow& row);
/// Adds ROW, which is ready, to the last element of RECEIVED if it is the same request, or to a new
/// one.
void add_received(Repository::State& state, const ReceivedRow& row, std::vector<Received>& received,
                  std::vector<Rid>& reported);

}  // namespace quarry::repository
