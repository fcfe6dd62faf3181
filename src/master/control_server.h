// The master's end of the control socket (protocol: control/question.h). It answers questions and
// does not accept commands.
//
// Reads and writes never block, and a client that has not sent its question and read the answer
// within control::kPatience is disconnected. At most kMostClients are connected; for a new one, the
// client that has been silent for longest is disconnected, so that silent clients cannot block
// others.
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

  /// LISTENER and BASE must outlive it.
  ControlServer(event_base* base, int listener, Answer answer);

 private:
  struct Client {
    ControlServer* server;
    base::Fd fd;
    std::chrono::steady_clock::time_point deadline;
    std::string question;  // the part that was received
    std::string answer;    // "": no complete question yet
    std::size_t sent = 0;
    base::EventPtr event;  // after the descriptor that it watches
  };

  void take_connections();
  void take_connection(base::Fd fd);
  /// Disconnects the client that has been silent for longest, or the oldest.
  void let_one_go();
  /// Reads and writes as far as possible without blocking. False: CLIENT is finished.
  bool go_on(Client& client);
  /// Reads as much of the question as is available. False: CLIENT has disconnected.
  bool read_question(Client& client);
  bool write_answer(Client& client);
  bool wait_for(Client& client, short what);
  void drop(const Client& client);

  event_base* base_;
  int listener_;
  Answer answer_;
  std::vector<std::unique_ptr<Client>> clients_;  // oldest first
  base::EventPtr on_connection_;
  base::EventPtr pause_;  // pending while out of descriptors
};

}  // namespace quarry::master
