#include "server_place.h"

#include "quarry/master/control_address.h"

namespace quarry::app {
namespace {

base::Result<base::SocketAddress> address_of(const ServerPlace& place) {
  if (place.socket.empty()) return master::control_socket_in(place.config);
  // A plain name is a file in the current folder, not a port.
  const bool has_folder = place.socket.find('/') != std::string::npos;
  return base::SocketAddress::parse(has_folder ? place.socket : "./" + place.socket);
}

}  // namespace

base::Result<std::string> ServerPlace::ask(control::Question question) const {
  QUARRY_TRY_ASSIGN(const auto address, address_of(*this));
  return control::ask(address, question);
}

}  // namespace quarry::app
