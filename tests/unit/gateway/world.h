// A gateway in its own process, a pool with scripted answers, and a client that sends bytes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/pipe.h"
#include "quarry/gateway/gateway.h"
#include "temporary_folder.h"

namespace quarry::gateway::testing {

/// What the gateway sent to the pool.
struct PoolRequest {
  std::map<std::string, std::string> params;
  std::string body;
};

/// Records for a reply: OUTPUT in one STDOUT record, and the end of the request.
std::string fastcgi_answer(std::string_view output, std::string_view error_output = {});

/// An address "127.0.0.1:PORT" with an unused port.
std::string free_address();

/// The start of most replies.
inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\n";
inline constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// A GET request for TARGET with the additional header FIELDS.
std::string get(std::string_view target, std::string_view fields = {});
/// A POST request to /p.
std::string post(std::string_view body, std::string_view fields = {});
/// The body of REPLY.
std::string body_of(std::string_view reply);
AddressSet set_of(const std::vector<std::string>& entries);

/// Listens on an address and hands each connection to a function, in a single thread.
class Pool {
 public:
  using Serve = std::function<void(int connection)>;
  Pool(const std::string& address, Serve serve, int backlog = 64);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Reads a complete request. Its params are empty if the gateway has disconnected.
  static PoolRequest read_request(int connection);
  /// A function that reads each request and answers with BYTES.
  static Serve answering(std::string bytes);
  static void write(int connection, std::string_view bytes);

 private:
  base::Fd socket_;
  base::Pipe stop_;
  std::thread thread_;
};

/// Answers every request with its body or, if that is empty, with its params, each in the form
/// "NAME=VALUE\n".
void serve_echo(int connection);

/// A forked gateway; the destructor ends it with SIGTERM. Create it before the Pool, because a fork
/// does not copy the pool's thread.
class Gateway {
 public:
  /// POOL is the address of the pool.
  explicit Gateway(const std::string& pool, GatewayOptions options = {});
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  std::uint16_t port() const { return port_; }
  void signal(int number) const;
  /// Its exit code; -1 if a signal ended it, or if it did not end within kPatience.
  int wait();
  /// The lines that it has logged so far.
  std::string log() const;

 private:
  TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

/// A gateway and a pool, connected by one socket. A test that needs several of these creates all of
/// them before the first request: in a gateway that is forked later, memory of a pool's thread
/// would be reported as leaked.
struct World {
  explicit World(Pool::Serve serve = serve_echo, GatewayOptions options = {})
      : gateway(folder / "pool", std::move(options)), pool(folder / "pool", std::move(serve)) {}

  TemporaryFolder folder;
  Gateway gateway;
  Pool pool;
};

/// A connection to the gateway.
class Client {
 public:
  /// Connects from ADDRESS, which is in 127.0.0.0/8.
  explicit Client(const Gateway& gateway, const std::string& address = "127.0.0.1");
  void send(std::string_view bytes) const;
  /// Whether a GET request is answered with 200.
  bool is_served();
  /// Reads one reply, up to its Content-Length (BODILESS: a reply to HEAD, or a 304). If the
  /// gateway closes the connection or kPatience has passed, returns what has arrived.
  std::string reply(bool bodiless = false);
  /// Reads the next SIZE bytes, or fewer if the gateway closes the connection.
  std::string take(std::size_t size);
  /// Reads everything until the gateway closes the connection. The result ends with "TIMEOUT" if
  /// that takes longer than kPatience.
  std::string rest();
  void close() { socket_.reset(); }

 private:
  bool more();
  base::Fd socket_;
  std::string buffered_;
  bool timed_out_ = false;
};

/// Sends BYTES on a new connection and returns its first reply.
std::string ask(const Gateway& gateway, std::string_view bytes = kGet);
/// Whether LINE appears in the gateway's log within kPatience.
bool wait_for_log(const Gateway& gateway, std::string_view line);

}  // namespace quarry::gateway::testing
