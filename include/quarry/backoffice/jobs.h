// The jobs of a run (run.h). What each has to remember between runs is a row of the repository's
// `config`; a run that finds nothing to do writes nothing.
#pragma once

#include <chrono>
#include <string>

#include "quarry/backoffice/run.h"

namespace quarry::backoffice {

struct MaintenanceOptions {
  std::chrono::seconds interval{3600};           // between two looks
  std::chrono::milliseconds verification{2000};  // that each spends on verifying artifacts
  std::chrono::hours access_log_kept{24 * 365};
};
/// Forgets what has expired, keeps SQLite's statistics true, and verifies all artifacts, some in each
/// look, beginning anew after the last. Damage is an error (kCorrupt).
Job maintenance(const MaintenanceOptions& options);

}  // namespace quarry::backoffice
