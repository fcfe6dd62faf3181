// The command lines that start a gate. quarry/changes/gate.h explains them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/gate.h"

namespace quarry::changes {

/// Checks OPTIONS. Error: kInvalid (the message names the problem).
Result<void> check_options(const GateOptions& options);

struct GateUser {
  uid_t user = 0;
  gid_t group = 0;
};
/// Returns the user to which the gate has to switch, or nullopt if it runs as the current user.
/// Errors: kInvalid, kDenied, kNotFound.
Result<std::optional<GateUser>> gate_user(const GateOptions& options);

/// Checks that USER can execute PROGRAM, a path or a name. A null USER is the user of this process.
/// Does not check a program in the tree. Error: kDenied.
Result<void> check_program(const std::string& program, const std::optional<GateUser>& user);

/// The descriptors that bwrap inherits in addition to the standard streams: it writes its status to
/// kStatusDescriptor, reads the filter of system calls from kCallsDescriptor, and reads
/// gate_files() from kFirstFileDescriptor and the following descriptors.
inline constexpr int kStatusDescriptor = 3;
inline constexpr int kCallsDescriptor = 4;
/// A replacement for a file in /etc, so that the gate cannot identify this machine.
struct GateFile {
  const char* path;
  const char* text;
};
inline constexpr int kFirstFileDescriptor = 5;
std::vector<GateFile> gate_files();

/// Returns the environment of the gate. FOLDER is "/gate" in a sandbox.
std::vector<std::string> gate_environment(const GateCase& gate_case, const std::string& folder);
/// Returns the command line that sets limits, unpacks the tree, and executes the gate. With a
/// sandbox, this command line runs inside the sandbox.
std::vector<std::string> inner_words(const GateOptions& options);
/// Returns the complete command lines.
std::vector<std::string> sandbox_words(const GateOptions& options, const GateCase& gate_case,
                                       const std::optional<GateUser>& user);
std::vector<std::string> bare_words(const GateOptions& options,
                                    const std::optional<GateUser>& user);

}  // namespace quarry::changes
