// One request to one `fossil http`, and its reply, without blocking.
//
//   asking and reading ──> head ──> body … ──> complete ──> the process ends by itself ──> over
//                     └─────────┴─────────┴──> broken (it is ended)
#pragma once

#include <event2/bufferevent.h>

#include <chrono>
#include <cstddef>
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
  struct Limits {
    /// To make the page, as long as it is taken.
    std::chrono::milliseconds timeout;
    std::size_t max_reply;
  };
  enum class Fault {
    kBroken,   // it ended, or wrote what is no reply
    kTimeout,  // it took too long
    kTooLong,  // it wrote too much
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_head(FossilRun& run, http::ReplyHeader& header) = 0;
    /// More of the reply's body has come, all of which is to be taken off BODY.
    virtual void on_body(FossilRun& run, evbuffer* body) = 0;
    /// All of the reply has come.
    virtual void on_complete(FossilRun& run) = 0;
    /// There will be no more of it, for a reason that is told in words.
    virtual void on_fault(FossilRun& run, Fault fault, const std::string& reason) = 0;
    /// The end of it, whatever came before. The owner destroys it, but not from within.
    virtual void on_over(FossilRun& run) = 0;
  };

  /// Asks PROCESS: HEAD as scgi_head() made it, and all of BODY. HEAD_ONLY: the reply has no body.
  /// LIMITS and OWNER must outlive it.
  FossilRun(event_base* base, FossilProcess process, std::string_view head, evbuffer* body,
            bool head_only, const Limits& limits, Owner& owner);
  FossilRun(const FossilRun&) = delete;
  FossilRun& operator=(const FossilRun&) = delete;

  pid_t pid() const { return process_.pid(); }
  /// Reads no more of the reply until resume(); meanwhile its time stands still.
  void pause();
  void resume();
  /// Ends the process; on_over() follows, and nothing else.
  void cancel();
  /// The process has ended; STATUS as waitpid(2) has it.
  void on_exit(int status);

 private:
  enum class State { kHead, kBody, kLeaving };
  struct FreeBev {
    void operator()(bufferevent* bev) const { bufferevent_free(bev); }
  };
  using BevPtr = std::unique_ptr<bufferevent, FreeBev>;

  void on_output();
  void on_output_end();
  bool take_head();
  void take_body();
  void complete();
  void fault(Fault fault, std::string reason);
  void on_deadline();
  void over();

  FossilProcess process_;
  const Limits& limits_;
  Owner& owner_;
  bool head_only_;
  State state_ = State::kHead;
  bool is_paused_ = false;
  bool is_over_ = false;
  std::optional<std::uint64_t> declared_;
  std::uint64_t received_ = 0;
  std::string status_;  // how the process ended, if it did
  base::Event deadline_;
  BevPtr input_;
  BevPtr output_;
  BevPtr errors_;
};

}  // namespace quarry::pages
