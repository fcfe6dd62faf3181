#include "work.h"

#include <sqlite3.h>

#include <utility>

namespace quarry::sync {
namespace {

std::int64_t steps = 0;

int add_steps(unsigned /*event*/, void* /*context*/, void* statement, void* /*nanoseconds*/) {
  steps += sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP,
                               /*resetFlg=*/1);
  return 0;
}

int watch(sqlite3* database, char** /*message*/, const sqlite3_api_routines* /*api*/) {
  return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, add_steps, nullptr);
}

void (*as_extension())() {
  return reinterpret_cast<void (*)()>(&watch);
}

}  // namespace

CountedWork::CountedWork() {
  steps = 0;
  sqlite3_auto_extension(as_extension());
}

CountedWork::~CountedWork() {
  sqlite3_cancel_auto_extension(as_extension());
}

std::int64_t CountedWork::take() {
  return std::exchange(steps, 0);
}

}  // namespace quarry::sync
