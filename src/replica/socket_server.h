// The server of control/publication.h: one thread with poll(2). A client sends one request and gets
// one answer, or two if the first one keeps the connection open. The request `land` has a line, which
// ends with the size of its content, and the content. A client that sends too much, or not a whole
// line in time, is disconnected. If there
// are too many clients, those that have not sent their requests are disconnected first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::replica {

struct SocketServerOptions {
  std::size_t max_clients = 512;
  std::size_t max_request = 1024;  // bytes of a line
  std::size_t max_content = std::size_t{640} << 20;
  /// Timeout for reading a line or a part of its content, and for sending an answer.
  std::chrono::milliseconds time_out{5000};
};

class SocketServer {
  class Mailbox;

 public:
  /// Can be called in any thread, also after the server has ended.
  class Answer {
   public:
    Answer(std::shared_ptr<Mailbox> mailbox, std::uint64_t client)
        : mailbox_(std::move(mailbox)), client_(client) {}
    /// Sends RESULT and closes the connection, unless KEPT is not null: the connection is then kept
    /// until the client closes it or the next call. KEPT is released at that time.
    void operator()(const Result<std::string>& result,
                    std::shared_ptr<const void> kept = nullptr) const;

   private:
    std::shared_ptr<Mailbox> mailbox_;
    std::uint64_t client_;
  };
  /// Called with the request in the thread of run(). Must not wait. After the line of a request with
  /// content, REQUEST has a newline and the content.
  using Handle = std::function<void(std::string_view request, Answer answer)>;

  /// Errors: kIo.
  static Result<std::unique_ptr<SocketServer>> create(base::Fd listener, Handle handle,
                                                      const SocketServerOptions& options = {});
  ~SocketServer();

  /// Serves clients until GOES_ON returns false. GOES_ON is called whenever FD can be read. Clients
  /// that are still waiting for an answer are then disconnected.
  void run(int fd, const std::function<bool()>& goes_on);

 private:
  struct Client;
  using TimePoint = std::chrono::steady_clock::time_point;

  SocketServer(base::Fd listener, std::shared_ptr<Mailbox> mailbox, Handle handle,
               const SocketServerOptions& options);
  bool round(int fd, const std::function<bool()>& goes_on);
  int until_deadline() const;
  void accept_some();
  bool make_room();
  void serve(Client& client, short events);
  void receive(Client& client);
  void deliver();
  void answer(Client& client, const Result<std::string>& result);
  void write(Client& client);

  base::Fd listener_;
  std::shared_ptr<Mailbox> mailbox_;
  Handle handle_;
  SocketServerOptions options_;
  std::list<Client> clients_;  // in the order of their arrival
  std::uint64_t next_id_ = 1;
  TimePoint next_accept_{};  // after an error of accept(): time of the next attempt
};

}  // namespace quarry::replica
