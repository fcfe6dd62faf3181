// Where servers that run already listen: an address that one of them has is not in the way of a
// configuration that it will take over itself, by a reload.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quarry::app {

/// The addresses, as SocketAddress::str(), at which those listen whose place a start with the file
/// CONFIG takes: a quarryd that was started with CONFIG or whose number is in PID_FILE ("": none),
/// and systemd, which opens sockets for others. What this user may not see of them is left out.
std::vector<std::string> addresses_of_running(const std::filesystem::path& config,
                                              const std::string& pid_file);

/// Whether this process was started by systemd, and may not see which sockets that one has opened.
bool may_have_unseen_sockets();

}  // namespace quarry::app
