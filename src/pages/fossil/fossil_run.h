// Sends one request to one `fossil http` process and reads its reply, without blocking.
//
//   sending and reading ──> head ──> body … ──> complete ──> the process exits ──> finished
//                      └──────────┴─────────┴──> broken (the process is killed)
#pragma once

#include <event2/bufferevent.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fossil_process.h"
#include "quarry/base/event_handles.h"
#include "quarry/http/reply_header.h"

namespace quarry::pages {

class FossilRun {
 public:
  enum class Fault {
    kBroken,   // the process exited early, or its reply is invalid or too large
    kTimeout,  // the run took too long; pauses do not count
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_head(FossilRun& run, http::ReplyHeader& header) = 0;
    /// Called when more of the reply's body has arrived. The owner has to remove all data from
    /// BODY.
    virtual void on_body(FossilRun& run, evbuffer* body) = 0;
    /// Called when the reply is complete.
    virtual void on_complete(FossilRun& run) = 0;
    /// Called when the reply is incomplete. REASON is for the log.
    virtual void on_fault(FossilRun& run, Fault fault, const std::string& reason) = 0;
    /// Called when the run has ended for any reason. The owner destroys the run, but not in this
    /// call.
    virtual void on_finished(FossilRun& run) = 0;
  };

  /// Sends HEAD, from scgi_head(), and all of BODY to PROCESS. If HEAD_ONLY, the reply does not
  /// have a body. OPTIONS and OWNER must outlive this object.
  FossilRun(event_base* base, FossilProcess process, std::string_view head, evbuffer* body,
            bool head_only, const Options& options, Owner& owner);
  FossilRun(const FossilRun&) = delete;
  FossilRun& operator=(const FossilRun&) = delete;

  pid_t pid() const { return process_.pid(); }
  /// Stops reading the reply and suspends the time limit until resume().
  void pause();
  void resume();
  /// Kills the process. After cancel(), only on_finished() is called.
  void cancel();
  /// Called when the process has exited. STATUS is the same as for waitpid(2).
  void on_exit(int status);
  /// Returns what the process has written to standard error, for the log, and forgets it.
  std::string take_errors();

 private:
  enum class State { kHead, kBody, kExiting };
  using BevPtr = std::unique_ptr<bufferevent, base::FreeWith<bufferevent_free>>;

  void on_output();
  void on_output_end();
  bool take_head();
  void take_body();
  void complete();
  void fault(Fault fault, std::string reason);
  void on_deadline();
  void finish();

  FossilProcess process_;
  const Options& options_;
  Owner& owner_;
  bool head_only_;
  State state_ = State::kHead;
  bool is_paused_ = false;
  bool is_finished_ = false;
  std::optional<std::uint64_t> declared_;
  std::uint64_t received_ = 0;
  std::string status_;  // exit status or signal in words, if the process has exited
  base::Event deadline_;
  BevPtr input_;
  BevPtr output_;
  BevPtr errors_;
};

}  // namespace quarry::pages
