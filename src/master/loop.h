// The master's event loop. The loop passes signals, ended children and timers to the following
// parts, and carries out their decisions:
//
//   running_service.h             a service: its children, and when they are started
//   pool/request_bounds.h         limits on the duration of requests
//   pool/crash_policy.h           repeated crashes
//   reload/reloading.h            reloads
//   reload/previous_generation.h  children of earlier generations
//   stopping.h                    the order of a stop
//
// These parts do not depend on the loop. Only RunningService depends on other parts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "control_server.h"
#include "job/job_places.h"
#include "pool/crash_policy.h"
#include "pool/master_state.h"
#include "quarry/base/event_handles.h"
#include "quarry/master/master.h"
#include "reload/previous_generation.h"
#include "reload/reloading.h"
#include "running_service.h"
#include "status_document.h"
#include "status_line.h"
#include "stopping.h"

namespace quarry::master {

class Loop {
 public:
  Loop(GlobalConfig global, std::vector<Service> services, Reload reload, Control control);
  Result<void> run();

 private:
  // Startup (loop.cc):
  Result<void> set_up();
  Result<void> watch_signals();
  void count_jobs_in_pools();
  /// Calls Service::on_snapshot or Service::on_jobs.
  static void publish_snapshot(const RunningService& one);
  void begin_control_server();
  void every(std::chrono::milliseconds interval, base::Event::Action action);
  void start_services();
  void give_up(const RunningService& service);
  void notify_ready();

  // Events (events.cc):
  void take_signals();
  void second_passed();
  void check_requests();
  void on_message(const Service& from, std::uint32_t job, const control::Message& message);
  /// Passes MESSAGE from the service FROM to the service that runs the requested jobs. Returns
  /// false if no such service exists.
  bool pass_to_jobs(const std::string& from, const control::Message& message);
  void reap_ended_children();
  void reap(pid_t pid, int status);
  void reap_child(RunningService& service, const Remains& remains, int status);
  void reap_previous_child(const PreviousGeneration::Departed& departed, int status);
  void count_crash(int status);
  void on_emergency();
  void reopen_logs();

  // Stops and reloads (events.cc):
  void stop(bool is_graceful);
  void stop_timed_out();
  void go_on_stopping();
  void carry_out(const StopOrder& order);
  void replace_children();
  CheckedProgram program_to_check() const;
  void execute_again();
  LivingChildren living() const;

  GlobalConfig global_;
  Reload reload_;
  Control control_;
  MasterState master_state_;
  base::EventBasePtr base_;
  ProcessMax process_max_;
  JobPlaces job_places_;
  EmergencyRestart emergency_;
  PreviousGeneration previous_generation_;
  Stopping stopping_;
  StatusLine status_line_;
  MasterFacts facts_;
  std::optional<Error> failure_;  // the reason why run() fails
  base::Fd signals_;
  RunningServices services_;
  std::optional<Reloading> reloading_;
  std::optional<ControlServer> control_server_;
  base::Event deadline_;             // deadline of the current phase of a stop
  std::vector<base::Event> events_;  // events for the lifetime of the loop
};

}  // namespace quarry::master
