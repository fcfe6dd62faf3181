// The master's end of the control socket (control/question.h has the protocol): answers questions
// and takes no orders.
//
// It never waits for a client: reading and writing go as far as they go at once, and a client that
// has not asked and taken its answer within control::kPatience is dropped. There are never more
// than kMostClients at a time; when another one comes, the one that has been silent for longest
// goes, so that clients that say nothing keep nobody out.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "quarry/control/question.h"

namespace quarry::master {

class ControlServer {
 public:
  static constexpr std::size_t kMostClients = 32;
  using Answer = std::function<std::string(control::Question)>;

  /// On LISTENER, which must outlive it, as must BASE.
  ControlServer(event_base* base, int listener, Answer answer);

 private:
  struct Client {
    ControlServer* server;
    base::Fd fd;
    std::chrono::steady_clock::time_point deadline;
    std::string question;  // what has come of it
    std::string answer;    // "": not asked yet
    std::size_t sent = 0;
    base::EventPtr event;  // after what it uses
  };

  void take_connections();
  void take_connection(base::Fd fd);
  /// The one that has been silent for longest, or the oldest.
  void let_one_go();
  /// Goes on with CLIENT as far as it goes. False: it is done with.
  bool go_on(Client& client);
  /// Nothing more to do before CLIENT has said or taken something. False: it is gone.
  bool read_question(Client& client);
  bool write_answer(Client& client);
  bool wait_for(Client& client, short what);
  void drop(const Client& client);

  event_base* base_;
  int listener_;
  Answer answer_;
  std::vector<std::unique_ptr<Client>> clients_;  // the one that came first is the first
  base::EventPtr on_connection_;
  base::EventPtr pause_;  // pending: no connection can be taken for want of descriptors
};

}  // namespace quarry::master
