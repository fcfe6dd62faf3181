#include "nats_servers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "eventually.h"
#include "quarry/base/fd.h"

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Returns a free port below those that the kernel gives to outgoing connections.
int free_port() {
  static std::mt19937 random{std::random_device{}()};
  for (;;) {
    const int port = std::uniform_int_distribution(10000, 32000)(random);
    const quarry::base::Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = loopback(port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return port;
  }
}

}  // namespace

NatsServers::NatsServers(std::size_t count, std::string configuration)
    : configuration_(std::move(configuration)), servers_(count) {
  // Another process might take a port before the server does.
  for (int attempt = 0;; ++attempt) {
    for (Server& server : servers_) {
      server.port = free_port();
      server.route_port = free_port();
    }
    for (std::size_t i = 0; i < count; ++i) launch(i);
    bool are_listening = true;
    for (std::size_t i = 0; i < count; ++i) are_listening = are_listening && is_listening(i);
    if (are_listening) return;
    for (std::size_t i = 0; i < count; ++i) kill(i);
    if (attempt == 9) throw std::runtime_error("nats-server does not start");
  }
}

NatsServers::~NatsServers() {
  for (std::size_t i = 0; i < count(); ++i) kill(i);
}

std::string NatsServers::url(std::size_t server) const {
  return fmt::format("127.0.0.1:{}", servers_[server].port);
}

std::string NatsServers::urls(std::size_t first) const {
  std::string urls;
  for (std::size_t i = 0; i < count(); ++i)
    urls += (i == 0 ? "nats://" : ",nats://") + url((first + i) % count());
  return urls;
}

void NatsServers::launch(std::size_t server) {
  Server& own = servers_[server];
  const std::string folder = folder_ / fmt::format("{}", server);
  const std::string file = folder + ".conf";
  std::ofstream out(file);
  out << fmt::format(
      "listen: 127.0.0.1:{}\nserver_name: s{}\njetstream {{ store_dir: \"{}\" }}\n"
      "logfile: \"{}.log\"\n{}\n",
      own.port, server, folder, folder, configuration_);
  if (count() > 1) {
    out << fmt::format("cluster {{ name: test, listen: 127.0.0.1:{}, routes: [", own.route_port);
    for (const Server& other : servers_)
      out << fmt::format("\"nats://127.0.0.1:{}\", ", other.route_port);
    out << "] }\n";
  }
  out.close();
  own.pid = ::fork();
  if (own.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    ::execlp("nats-server", "nats-server", "-c", file.c_str(), nullptr);
    ::_exit(127);
  }
}

/// Waits until SERVER listens. Returns false if it has exited.
bool NatsServers::is_listening(std::size_t server) {
  Server& own = servers_[server];
  bool has_exited = false;
  const bool is_done = eventually([&] {
    has_exited = ::waitpid(own.pid, nullptr, WNOHANG) == own.pid;
    const quarry::base::Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = loopback(own.port);
    return has_exited ||
           ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  });
  if (has_exited) own.pid = 0;
  return is_done && !has_exited;
}

void NatsServers::start(std::size_t server) {
  const bool has_started = eventually([&] {
    launch(server);
    return is_listening(server);
  });
  if (!has_started) throw std::runtime_error("nats-server does not start again");
}

void NatsServers::kill(std::size_t server) {
  pid_t& pid = servers_[server].pid;
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  pid = 0;
}

void NatsServers::stop(std::size_t server) {
  const pid_t pid = servers_[server].pid;
  ::kill(pid, SIGSTOP);
  // Until all its threads have stopped, the server can still store a message.
  siginfo_t stopped{};
  ::waitid(P_PID, static_cast<id_t>(pid), &stopped, WSTOPPED);
}

void NatsServers::resume(std::size_t server) {
  ::kill(servers_[server].pid, SIGCONT);
}

std::string NatsServers::request(std::size_t server, const std::string& subject,
                                 const std::string& body) {
  const quarry::base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval time{5, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  const sockaddr_in address = loopback(servers_[server].port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return "";
  const std::string text = fmt::format(
      "CONNECT {{\"verbose\":false,\"headers\":true,\"no_responders\":true}}\r\n"
      "SUB answer 1\r\nPUB {} answer {}\r\n{}\r\n",
      subject, body.size(), body);
  if (::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return "";
  // MSG answer 1 SIZE\r\nTEXT\r\n
  std::string received;
  for (;;) {
    const std::size_t start = received.find("\r\nMSG answer 1 ");
    const std::size_t end = start == std::string::npos ? start : received.find("\r\n", start + 2);
    if (end != std::string::npos) {
      const std::size_t size = std::stoul(received.substr(start + 15, end));
      if (received.size() >= end + 2 + size) return received.substr(end + 2, size);
    }
    if (received.contains("HMSG answer 1 ")) return "";  // no server answers
    char buffer[65536];
    const ssize_t count = ::recv(fd.get(), buffer, sizeof buffer, 0);
    if (count <= 0) return "";
    received.append(buffer, static_cast<std::size_t>(count));
  }
}

std::size_t NatsServers::leader(const std::string& name) {
  std::size_t found = count();
  eventually([&] {
    for (std::size_t i = 0; i < count() && found == count(); ++i) {
      if (servers_[i].pid == 0) continue;
      const auto info =
          nlohmann::json::parse(request(i, "$JS.API.STREAM.INFO." + name), nullptr, false);
      if (!info.is_object() || !info.contains("cluster")) continue;
      const std::string leader = info["cluster"].value("leader", "");
      if (leader.starts_with('s')) found = std::stoul(leader.substr(1));
    }
    return found < count();
  });
  if (found == count()) throw std::runtime_error("the stream does not have a leader");
  return found;
}
