// The event loop's part of the process: connections in, requests to `fossil`, pages out.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fossil/fossil_pool.h"
#include "fossil/fossil_run.h"
#include "quarry/base/event_handles.h"
#include "quarry/pages/options.h"
#include "quarry/pages/pages.h"
#include "visit/visit.h"

namespace quarry::pages {

class Server final : private Visit::Owner, private FossilRun::Owner {
 public:
  /// All must outlive it.
  Server(event_base* base, const Options& options, const Place& place, const Handles& handles);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override;

  void start();
  /// Takes what was passed on until now; the loop ends with the last of it.
  void stop();
  /// Some children have ended.
  void reap();

 private:
  struct Visiting {
    std::unique_ptr<Visit> visit;
    FossilRun* run = nullptr;  // that makes its page
    bool has_head = false;
  };
  struct Running {
    std::unique_ptr<FossilRun> run;
    Visit* visit = nullptr;  // nobody's, where that has left
    std::string request;     // for the log
    bool is_post = false;
  };

  void take_connections();
  void ask(Visit& visit);
  void begin(Visit& visit);
  void answer(Visit& visit, int status, std::string_view text, std::string_view headers = {});
  void break_off(Visit& visit);
  void begin_waiting();
  void end_if_done();

  void on_held(Visit& visit, std::ptrdiff_t bytes) override;
  void on_request(Visit& visit, bool is_too_large) override;
  void on_taken(Visit& visit) override;
  void on_gone(Visit& visit) override;
  void on_head(FossilRun& run, http::ReplyHeader& header) override;
  void on_body(FossilRun& run, evbuffer* body) override;
  void on_complete(FossilRun& run) override;
  void on_fault(FossilRun& run, FossilRun::Fault fault, const std::string& reason) override;
  void on_over(FossilRun& run) override;

  event_base* base_;
  const Options& options_;
  const Place& place_;
  const Handles& handles_;
  Visit::Limits visit_limits_;
  FossilRun::Limits run_limits_;
  FossilPool pool_;
  std::size_t held_ = 0;  // bytes of requests
  bool is_stopping_ = false;
  std::unordered_map<const Visit*, Visiting> visits_;
  std::unordered_map<const FossilRun*, Running> runs_;
  std::list<Visit*> waiting_;
  std::list<Running> over_;  // to be destroyed when nothing of theirs is being called
  base::Event taking_;
  base::Event sweeping_;
};

}  // namespace quarry::pages
