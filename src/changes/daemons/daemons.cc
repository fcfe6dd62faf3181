#include "quarry/changes/daemons.h"

#include <utility>

#include "execution.h"
#include "loop.h"
#include "prequeue.h"
#include "queueing.h"

namespace quarry::changes {

Result<void> run_prequeue(const DaemonOptions& options, const MakeChecker& make_checker) {
  Loop loop(options, Trigger::kPrequeue, [&](ManagedQueue& managed) {
    managed.checker = make_checker(managed.options);
    managed.worker = std::make_unique<Prequeue>(loop.context_of(managed), *managed.checker);
  });
  return loop.run();
}

Result<void> run_queueing(const DaemonOptions& options) {
  Loop loop(options, Trigger::kQueue, [&](ManagedQueue& managed) {
    managed.worker = std::make_unique<Queueing>(loop.context_of(managed));
  });
  return loop.run();
}

Result<void> run_execution(const DaemonOptions& options, const MakeExecutor& make_executor) {
  Loop loop(options, Trigger::kExecution, [&](ManagedQueue& managed) {
    // The child closes all files of the daemon, and then opens this queue itself.
    auto live = [&loop, &make_executor, &options, &queue = managed.options](base::Fd socket,
                                                                            pid_t daemon) {
      loop.leave_daemon();
      Directories directories(base::FileSystem::real(), queue.base);
      const auto executor = make_executor(queue);
      serve(std::move(socket), daemon, queue, directories, *executor, base::system_clock(),
            static_cast<bool>(options.report));
    };
    managed.worker = std::make_unique<Execution>(loop.context_of(managed), std::move(live));
  });
  return loop.run();
}

}  // namespace quarry::changes
