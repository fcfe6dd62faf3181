#include "quarry/changes/gate.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>
#include <utility>

#include "gate_command.h"
#include "gate_process.h"
#include "quarry/base/duration.h"
#include "quarry/base/spawn.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {
namespace {

constexpr int kSkip = 99;
constexpr int kPermanent = 100;
constexpr int kTemporary = 111;
constexpr int kSignals = 128;

/// A temporary folder for a gate without a sandbox.
class BareFolder {
 public:
  static Result<BareFolder> make(const std::optional<GateUser>& user) {
    std::string name = (std::filesystem::temp_directory_path() / "quarry-gate-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return fail_errno("cannot create " + name);
    BareFolder folder(name);
    for (const char* each : {"", "/tree", "/tmp"}) {
      const std::string path = name + each;
      std::error_code error;
      if (*each != '\0') std::filesystem::create_directory(path, error);
      if (error || (user && ::chown(path.c_str(), user->user, user->group) != 0)) {
        return fail_errno("cannot create " + path);
      }
    }
    return folder;
  }
  BareFolder(BareFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  BareFolder& operator=(BareFolder&&) = delete;
  ~BareFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit BareFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<void> send_tree(GateProcess& process, const GateCase& gate_case) {
  QUARRY_TRY_ASSIGN(auto writer,
                    TarballWriter::open([&](std::string_view bytes) { return process.feed(bytes); },
                                        TarballCompression::kNone));
  std::string files;
  for (const std::string& name : gate_case.files) files += name + '\n';
  QUARRY_TRY(writer.add("files", 0, files));
  const auto add = [&](std::string_view name, char permission, std::string_view content) {
    return writer.add(fmt::format("tree/{}", name), permission, content);
  };
  if (gate_case.visit_tree) QUARRY_TRY(gate_case.visit_tree(add));
  return writer.finish();
}

GateVerdict verdict_of(int code) {
  if (code == 0) return {GateDecision::kLand, "the gate accepted it", {}};
  if (code == kSkip) return {GateDecision::kSkip, "the gate skipped it (exit code 99)", {}};
  if (code == kTemporary) {
    return {GateDecision::kTryLater, "the gate had a temporary error (exit code 111)", {}};
  }
  if (code == kPermanent) return {GateDecision::kFail, "the gate rejected it (exit code 100)", {}};
  if (code > kSignals && code <= kSignals + 64) {
    return {GateDecision::kFail,
            fmt::format("the gate exited with code {} (signal {})", code, code - kSignals),
            {}};
  }
  return {GateDecision::kFail, fmt::format("the gate exited with code {}", code), {}};
}

/// Returns the reason why the gate was stopped before it gave a verdict.
std::string reason_of(GateProcess::End end, const GateOptions& options) {
  switch (end) {
    case GateProcess::End::kTimedOut:
      return fmt::format("it took more than {} (changes.gate_timeout)",
                         base::in_words(options.timeout));
    case GateProcess::End::kTooMuchMemory:
      return fmt::format("it used more than {} bytes of memory (changes.gate_memory)",
                         options.memory);
    case GateProcess::End::kTooManyFiles:
      return fmt::format("it created more than {} files", options.files);
    default:
      return "it was interrupted";
  }
}

Result<GateVerdict> verdict_on(const GateProcess& process, const GateOptions& options) {
  if (const auto end = process.end(); end != GateProcess::End::kByItself) {
    const bool is_interrupted = end == GateProcess::End::kInterrupted;
    return GateVerdict{is_interrupted ? GateDecision::kInterrupted : GateDecision::kFail,
                       "the gate was killed: " + reason_of(end, options), process.output()};
  }
  const auto code = process.exit_code();
  if (!code) {
    std::string output = process.output();
    output.resize(std::min<std::size_t>(output.size(), 500));
    return fail(ErrorCode::kDenied, "cannot set up the sandbox of the gate: " + output);
  }
  GateVerdict verdict = verdict_of(*code);
  verdict.output = process.output();
  return verdict;
}

Result<GateVerdict> run(const GateOptions& options, const GateCase& gate_case,
                        const std::vector<std::string>& words, const std::string& folder,
                        const std::function<bool()>& interrupted) {
  QUARRY_TRY_ASSIGN(auto process, GateProcess::start(words, folder, options, interrupted));
  const auto sent = send_tree(process, gate_case);
  // Ignore kDiscarded, because the verdict of a gate is valid even if the gate does not read its
  // whole tree.
  if (!sent && sent.error().code != ErrorCode::kDiscarded) return std::unexpected(sent.error());
  process.wait();
  return verdict_on(process, options);
}

}  // namespace

Result<void> check_gate(const GateOptions& options) {
  QUARRY_TRY(check_options(options));
  QUARRY_TRY_ASSIGN(const auto user, gate_user(options));
  if (options.is_sandboxed && base::find_program("bwrap").empty()) {
    return fail(ErrorCode::kNotFound,
                "the sandbox of gates needs bwrap: apt-get install bubblewrap (or, if all "
                "submitters are trusted, set changes.gate_sandbox = no)");
  }
  return check_program(options.command.front(), user);
}

Result<GateVerdict> run_gate(const GateOptions& options, const GateCase& gate_case,
                             const std::function<bool()>& interrupted) {
  QUARRY_TRY(check_gate(options));
  QUARRY_TRY_ASSIGN(const auto user, gate_user(options));
  if (options.is_sandboxed) {
    return run(options, gate_case, sandbox_words(options, gate_case, user), "/", interrupted);
  }
  QUARRY_TRY_ASSIGN(const auto folder, BareFolder::make(user));
  std::vector<std::string> words = {"env", "-i"};
  std::ranges::move(gate_environment(gate_case, folder.path()), std::back_inserter(words));
  std::ranges::move(bare_words(options, user), std::back_inserter(words));
  return run(options, gate_case, words, folder.path() + "/tree", interrupted);
}

}  // namespace quarry::changes
