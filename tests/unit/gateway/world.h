// A gateway in a separate process, a pool with scripted answers, and a client that sends arbitrary
// bytes.
#pragma once

#include <sys/types.h>

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

/// The data that the gateway sent to the pool for one request.
struct PoolRequest {
  std::map<std::string, std::string> params;
  std::string body;
};

/// Returns FastCGI records for a reply with OUTPUT. If ERROR_OUTPUT is not empty, the reply also
/// contains ERROR_OUTPUT.
std::string fastcgi_answer(std::string_view output, std::string_view error_output = {});

/// Returns an address "127.0.0.1:PORT" with an unused port.
std::string free_address();

inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\n";
inline constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// Returns a GET request for TARGET with the additional header lines FIELDS.
std::string get(std::string_view target, std::string_view fields = {});
/// Returns a POST request for /p.
std::string post(std::string_view body, std::string_view fields = {});
std::string body_of(std::string_view reply);
base::AddressSet set_of(const std::vector<std::string>& entries);

/// Listens on an address and calls a function for each connection, in a single thread.
class Pool {
 public:
  using Serve = std::function<void(int connection)>;
  Pool(const std::string& address, Serve serve, int backlog = 64);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Reads a complete request. If the gateway has disconnected, `params` is empty.
  static PoolRequest read_request(int connection);
  /// Returns a function that reads a request and answers with BYTES.
  static Serve answering(std::string bytes);
  static void write(int connection, std::string_view bytes);

 private:
  base::Fd socket_;
  base::Pipe stop_;
  std::thread thread_;
};

/// Answers a request with its body. If the body is empty, answers with its parameters, each in the
/// form "NAME=VALUE\n".
void serve_echo(int connection);

/// A gateway in a forked process. The destructor stops it with SIGTERM. Create the Gateway before
/// the Pool, because a fork does not copy the thread of the Pool.
class Gateway {
 public:
  /// Starts a gateway that connects to the address POOL.
  explicit Gateway(const std::string& pool, GatewayOptions options = {});
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  std::uint16_t port() const { return port_; }
  void signal(int number) const;
  /// Sets the limit on the gateway's descriptors.
  void limit_descriptors(std::size_t count) const;
  /// Waits for the gateway and returns its exit code. Returns -1 if a signal ended the gateway, or
  /// after kPatience.
  int wait();
  std::string log() const;

 private:
  TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

/// A gateway and a pool, connected by a Unix socket. A test must create all its Worlds before its
/// first request. Otherwise AddressSanitizer reports memory of another pool's thread as a leak in
/// the forked gateway.
struct World {
  explicit World(Pool::Serve serve = serve_echo, GatewayOptions options = {})
      : gateway(folder / "pool", std::move(options)), pool(folder / "pool", std::move(serve)) {}

  TemporaryFolder folder;
  Gateway gateway;
  Pool pool;
};

class Client {
 public:
  /// Connects from ADDRESS, which must be in 127.0.0.0/8.
  explicit Client(const Gateway& gateway, const std::string& address = "127.0.0.1");
  void send(std::string_view bytes) const;
  /// Sends a GET request. Returns true if the reply has the status 200.
  bool is_served();
  /// Reads one reply up to its Content-Length. If BODILESS is true, the reply ends after its
  /// header, as for HEAD requests. Returns the bytes received so far if the gateway closes the
  /// connection or kPatience expires.
  std::string reply(bool bodiless = false);
  /// Reads the next SIZE bytes, or fewer if the gateway closes the connection.
  std::string take(std::size_t size);
  /// Reads until the gateway closes the connection. After kPatience, stops and appends "TIMEOUT" to
  /// the result.
  std::string rest();
  void close() { socket_.reset(); }

 private:
  bool more();
  base::Fd socket_;
  std::string buffered_;
  bool timed_out_ = false;
};

/// Sends BYTES on a new connection and returns the first reply.
std::string ask(const Gateway& gateway, std::string_view bytes = kGet);
/// Waits for LINE in the gateway's log. Returns false after kPatience.
bool wait_for_log(const Gateway& gateway, std::string_view line);

}  // namespace quarry::gateway::testing
