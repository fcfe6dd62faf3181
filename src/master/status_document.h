// What the master tells over its control socket: its own facts, and each pool's status page.
//
// The figures of a pool are those that its workers would show under pm.status_path, from the same
// board by the same code; a worker is not needed for it, and a stopped one is in nobody's way.
#pragma once

#include <cstdint>
#include <string>

#include "pool/master_state.h"
#include "quarry/control/question.h"
#include "reload/previous_generation.h"
#include "running_service.h"

namespace quarry::master {

struct MasterFacts {
  std::string config;                 // the file, or what is served without one
  std::int64_t process_began = 0;     // seconds since 1970
  std::int64_t generation_began = 0;  // the same
  std::uint64_t process_max = 0;      // 0: no bound
  std::uint64_t backoffice_max = 0;   // 0: no bound
  std::uint64_t crashes = 0;          // that count for emergency_restart_threshold
  std::uint64_t emergency_restart_threshold = 0;
};

/// The answer to QUESTION: JSON, with the end of its line.
std::string status_document(control::Question question, const MasterFacts& facts,
                            const MasterState& master_state, const RunningServices& services,
                            const PreviousGeneration& previous);

}  // namespace quarry::master
