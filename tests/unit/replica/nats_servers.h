// Real nats-server processes on free loopback ports.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "temporary_folder.h"

class NatsServers {
 public:
  /// Starts COUNT servers; several form a cluster. CONFIGURATION is added to the file of each server.
  explicit NatsServers(std::size_t count, std::string configuration = "");
  /// Writes CONFIGURATION to the files. Servers read it when they start.
  void set_configuration(std::string configuration) { configuration_ = std::move(configuration); }
  ~NatsServers();
  NatsServers(const NatsServers&) = delete;
  NatsServers& operator=(const NatsServers&) = delete;

  std::size_t count() const { return servers_.size(); }
  std::string url(std::size_t server) const;
  /// The URLs of all servers, separated by commas, beginning with FIRST.
  std::string urls(std::size_t first = 0) const;
  std::filesystem::path folder() const { return folder_.path(); }

  /// Starts SERVER, which was killed, with its folder.
  void start(std::size_t server);
  void kill(std::size_t server);
  void stop(std::size_t server);  // SIGSTOP
  void resume(std::size_t server);

  /// Sends a request to SERVER and returns the answer, or "" if there is none.
  std::string request(std::size_t server, const std::string& subject, const std::string& body = "");
  /// Returns the number of the server that leads the stream NAME. Waits until one does.
  std::size_t leader(const std::string& name);

 private:
  struct Server {
    int port = 0;
    int route_port = 0;
    pid_t pid = 0;
  };
  void launch(std::size_t server);
  bool is_listening(std::size_t server);

  TemporaryFolder folder_;
  std::string configuration_;
  std::vector<Server> servers_;
};
