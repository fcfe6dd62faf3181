#include "quarry/changes/daemons.h"

#include <utility>

#include "execution.h"
#include "loop.h"
#include "prequeue.h"
#include "queueing.h"

namespace quarry::changes {

using base::Result;

Result<void> run_prequeue(const DaemonOptions& options, const MakeChecker& make_checker) {
  Loop loop(options, Trigger::kPrequeue, [&](Post& post) {
    post.checker = make_checker(post.options);
    post.work = std::make_unique<Prequeue>(loop.desk_of(post), *post.checker);
  });
  return loop.run();
}

Result<void> run_queueing(const DaemonOptions& options) {
  Loop loop(options, Trigger::kQueue,
            [&](Post& post) { post.work = std::make_unique<Queueing>(loop.desk_of(post)); });
  return loop.run();
}

Result<void> run_execution(const DaemonOptions& options, const MakeExecutor& make_executor) {
  Loop loop(options, Trigger::kExecution, [&](Post& post) {
    // In a child: everything of the daemon's is left behind but the queue.
    auto live = [&loop, &make_executor, &options, &queue = post.options](base::Fd socket) {
      loop.let_go();
      Directories directories(base::FileSystem::real(), queue.base);
      const auto executor = make_executor(queue);
      serve(std::move(socket), queue, directories, *executor, base::system_clock(),
            static_cast<bool>(options.report));
    };
    post.work = std::make_unique<Execution>(loop.desk_of(post), std::move(live));
  });
  return loop.run();
}

}  // namespace quarry::changes
