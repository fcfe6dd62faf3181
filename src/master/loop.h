// The master's event loop: signals, deaths and timers come in here, and are told to who decides
// what follows from them; what was decided is carried out from here.
//
//   running_service.h        a service: its children, and when they are started
//   pool/request_bounds.h    how long requests may take
//   pool/emergency_restart.h crashes
//   reload/reloading.h       when the master becomes a new one
//   reload/previous_generation.h children of earlier generations
//   stopping.h               in which order all ends
//
// None of them knows the loop, and none but RunningService another one of them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "control_server.h"
#include "job/job_places.h"
#include "pool/emergency_restart.h"
#include "pool/master_state.h"
#include "pool/process_max.h"
#include "quarry/base/event_handles.h"
#include "quarry/master/config.h"
#include "quarry/master/master_options.h"
#include "quarry/master/service.h"
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
  base::Result<void> run();

 private:
  // How it begins (loop.cc).
  base::Result<void> set_up();
  base::Result<void> watch_signals();
  void let_pools_count_jobs();
  /// To whoever wants to know (Service::on_snapshot).
  static void publish_snapshot(const RunningService& one);
  void listen_for_questions();
  void every(std::chrono::milliseconds interval, base::Event::Action action);
  void start_services();
  void give_up(const RunningService& service);
  void notify_ready();

  // What happens (events.cc).
  void take_signals();
  void second_passed();
  void check_requests();
  void on_message(const Service& from, const control::Message& message);
  /// Whether MESSAGE of the service called FROM is for one that runs on its request, and is told.
  bool pass_to_jobs(const std::string& from, const control::Message& message);
  void reap_ended_children();
  void reap(pid_t pid, int status);
  void reap_child(RunningService& service, const Remains& remains, int status);
  void reap_previous_child(const PreviousGeneration::Departed& departed, int status);
  void count_crash(int status);
  void on_emergency();
  void reopen_logs();

  // Its end, or its next generation (events.cc).
  void stop(bool is_graceful);
  void time_to_stop_is_up();
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
  std::optional<base::Error> failure_;  // why the master gives up
  base::Fd signals_;
  RunningServices services_;
  std::optional<Reloading> reloading_;
  std::optional<ControlServer> control_server_;
  base::Event deadline_;             // of a stop
  std::vector<base::Event> events_;  // that last as long as the loop
};

}  // namespace quarry::master
