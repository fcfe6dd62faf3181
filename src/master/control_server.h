// The master's end of the control socket (protocol: control/question.h). The server answers
// questions and does not accept commands.
//
// Reads and writes never block. A client that does not send its question or does not read its
// answer within control::kPatience is disconnected. At most kMaxClients clients are connected. When
// another client connects, the client that has been silent for the longest time is disconnected, so
// that silent clients cannot block others.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "quarry/control/question.h"

namespace quarry::master {

class ControlServer {
 public:
  static constexpr std::size_t kMaxClients = 32;
  using Answer = std::function<std::string(control::Question)>;

  /// Creates a server. LISTENER and BASE must outlive this object.
  ControlServer(event_base* base, int listener, Answer answer);

 private:
  struct Client {
    ControlServer* server;
    base::BufferEventPtr connection;
    bool is_answered = false;
  };

  void take_connections();
  void take_connection(base::Fd fd);
  /// Disconnects the client that has been silent for the longest time. If all are active,
  /// disconnects the oldest client.
  void disconnect_one();
  /// Answers the question of CLIENT if it is complete.
  void read_question(Client& client);
  void send_answer(Client& client, std::string_view answer);
  void disconnect(const Client& client);

  event_base* base_;
  int listener_;
  Answer answer_;
  std::vector<std::unique_ptr<Client>> clients_;  // oldest first
  base::Event on_connection_;
  base::Event pause_;  // pending during a pause after a shortage of descriptors
};

}  // namespace quarry::master
