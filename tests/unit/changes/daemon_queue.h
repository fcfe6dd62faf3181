// A queue whose daemons run in the test's process, on real folders and with real child processes.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "daemon_world.h"
#include "quarry/changes/change_log.h"
#include "temporary_folder.h"

namespace quarry::changes {

using Lines = std::vector<std::string>;

struct Queue : DaemonWorld {
  explicit Queue(const TemporaryFolder& folder, base::FileSystem& files = base::FileSystem::real())
      : DaemonWorld(files, folder / "q.changes"),
        repository(folder / "repository"),
        prequeue(context(), checker),
        queueing(context()),
        execution(context(), [this](base::Fd socket, pid_t daemon) {
          execution.leave_daemon();
          TextExecutor executor(repository);
          serve(std::move(socket), daemon, options, directories, executor, clock, true);
        }) {
    REQUIRE(prequeue.begin());
    REQUIRE(queueing.begin());
    REQUIRE(execution.begin());
  }

  void turn(Scan scan = Scan::kNew) {
    REQUIRE(prequeue.run(scan));
    REQUIRE(queueing.run(scan));
    REQUIRE(execution.run(scan));
  }
  /// Runs the daemons until the job NUMBER is in STAGE.
  void until(std::uint64_t number, Stage stage) {
    REQUIRE(eventually([&] {
      turn();
      return stage_of(number) == stage;
    }));
  }
  Lines lines() const {
    std::ifstream in(repository);
    Lines lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  /// Runs the daemons until the log of the job NUMBER contains "waiting".
  void until_waiting(std::uint64_t number) {
    REQUIRE(eventually([&] {
      turn();
      const auto record = ChangeLog(directories).read(id_of(number));
      return record && record->output.find("waiting") != std::string::npos;
    }));
  }

  std::filesystem::path repository;
  Prequeue prequeue;
  Queueing queueing;
  Execution execution;
};

}  // namespace quarry::changes
