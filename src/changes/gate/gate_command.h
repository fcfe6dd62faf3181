// The command lines that start a gate; quarry/changes/gate.h explains them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/gate.h"

namespace quarry::changes {

/// Checks OPTIONS. Error: kInvalid; the message says what is wrong.
base::Result<void> check_options(const GateOptions& options);

struct GateUser {
  uid_t user = 0;
  gid_t group = 0;
};
/// The user to which the gate has to switch; nullopt if it runs as our user. Errors: kInvalid,
/// kDenied, kNotFound.
base::Result<std::optional<GateUser>> gate_user(const GateOptions& options);

/// The gate's descriptors that follow its standard streams.
inline constexpr int kStatusDescriptor = 3;
inline constexpr int kCallsDescriptor = 4;
/// Replacements for files in /etc that would identify this machine.
struct GateFile {
  const char* path;
  const char* text;
};
inline constexpr int kFirstFileDescriptor = 5;
std::vector<GateFile> gate_files();

/// The environment of the gate. FOLDER is "/gate" in a sandbox.
std::vector<std::string> gate_environment(const GateCase& gate_case, const std::string& folder);
/// The commands that run inside the sandbox, if there is one: they set limits, unpack the tree, and
/// exec the gate.
std::vector<std::string> inner_words(const GateOptions& options);
/// The complete command lines.
std::vector<std::string> sandbox_words(const GateOptions& options, const GateCase& gate_case,
                                       const std::optional<GateUser>& user);
std::vector<std::string> bare_words(const GateOptions& options,
                                    const std::optional<GateUser>& user);

}  // namespace quarry::changes
