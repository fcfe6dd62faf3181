// The words that start a gate. quarry/changes/gate.h says what they come to.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/gate.h"

namespace quarry::changes {

/// Errors: kInvalid, what is wrong with OPTIONS.
base::Result<void> check_options(const GateOptions& options);

struct GateUser {
  uid_t user = 0;
  gid_t group = 0;
};
/// Whom a gate has to become; nothing: it stays who we are. Errors: kInvalid, kDenied, kNotFound.
base::Result<std::optional<GateUser>> gate_user(const GateOptions& options);

/// The places of a gate's descriptors behind its standard streams.
inline constexpr int kStatusPlace = 3;
inline constexpr int kCallsPlace = 4;
/// What stands in place of files in /etc that tell of this machine.
struct GateFile {
  const char* path;
  const char* text;
};
inline constexpr int kFirstFilePlace = 5;
std::vector<GateFile> gate_files();

/// For FOLDER: "/gate" within a sandbox.
std::vector<std::string> gate_environment(const GateCase& gate_case, const std::string& folder);
/// What runs in the sandbox, or without one: bounds, the unpacking, the gate.
std::vector<std::string> inner_words(const GateOptions& options);
/// All of it.
std::vector<std::string> sandbox_words(const GateOptions& options, const GateCase& gate_case,
                                       const std::optional<GateUser>& user);
std::vector<std::string> bare_words(const GateOptions& options,
                                    const std::optional<GateUser>& user);

}  // namespace quarry::changes
