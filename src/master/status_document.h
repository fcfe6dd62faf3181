// The answer on the master's control socket: data about the master, and the status of each pool.
//
// A pool's figures are the same as under pm.status_path, from the same board and the same code. The
// figures are available even if all workers are busy or stopped.
#pragma once

#include <cstdint>
#include <string>

#include "pool/master_state.h"
#include "quarry/control/question.h"
#include "reload/previous_generation.h"
#include "running_service.h"

namespace quarry::master {

struct MasterFacts {
  std::string config;                 // path of the configuration file, or of the served files
  std::int64_t process_began = 0;     // seconds since 1970
  std::int64_t generation_began = 0;  // seconds since 1970
  std::uint64_t process_max = 0;      // 0: no limit
  std::uint64_t backoffice_max = 0;   // 0: no limit
  std::uint64_t crashes = 0;          // crashes towards emergency_restart_threshold
  std::uint64_t emergency_restart_threshold = 0;
};

/// Returns the answer to QUESTION, as JSON with a newline.
std::string status_document(control::Question question, const MasterFacts& facts,
                            const MasterState& master_state, const RunningServices& services,
                            const PreviousGeneration& previous);

}  // namespace quarry::master
