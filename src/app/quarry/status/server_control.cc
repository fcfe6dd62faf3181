#include "server_control.h"

#include "quarry/master/control_address.h"

namespace quarry::app {
namespace {

base::Result<base::SocketAddress> address_of(const ServerControl& server) {
  if (server.socket.empty()) return master::control_socket_in(server.config);
  // A plain name is a file in the current folder, not a port.
  const bool has_folder = server.socket.find('/') != std::string::npos;
  return base::SocketAddress::parse(has_folder ? server.socket : "./" + server.socket);
}

}  // namespace

base::Result<std::string> ServerControl::ask(control::Question question) const {
  QUARRY_TRY_ASSIGN(const auto address, address_of(*this));
  return control::ask(address, question);
}

}  // namespace quarry::app
