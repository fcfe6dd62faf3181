// A program for the end-to-end tests of gates. `run-gate OPTIONS… PROGRAM ARGUMENT…` runs a gate on
// the files of a folder. It prints the verdict, the reason, and the output of the gate, or an
// error.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "quarry/changes/gate.h"

using namespace quarry::changes;

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Calls VISIT for each file and symbolic link in FOLDER.
quarry::base::Result<void> visit_folder(const std::filesystem::path& folder,
                                        const FileVisitor& visit) {
  using std::filesystem::perms;
  for (const auto& at : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = at.path().lexically_relative(folder);
    if (at.is_symlink()) {
      QUARRY_TRY(visit(name, 'l', std::filesystem::read_symlink(at.path()).string()));
    } else if (at.is_regular_file()) {
      std::ifstream file(at.path(), std::ios::binary);
      const std::string content(std::istreambuf_iterator<char>(file), {});
      const bool is_program = (at.status().permissions() & perms::owner_exec) != perms::none;
      QUARRY_TRY(visit(name, is_program ? 'x' : '\0', content));
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  GateOptions options;
  GateCase gate_case{.change_set = "0123456789abcdef",
                     .branch = "trunk",
                     .tip = "f00d",
                     .author = "ann",
                     .files = {"a", "d/b"},
                     .visit_tree = {}};
  std::string tree;
  std::string readable;
  std::string hidden;
  std::uint64_t timeout = 60'000;
  std::uint64_t processor_time = 600;
  bool without_sandbox = false;
  CLI::App app("Runs a gate");
  app.prefix_command();
  app.add_option("--tree", tree);
  app.add_option("--user", options.user);
  app.add_option("--readable", readable);
  app.add_option("--hidden", hidden);
  app.add_option("--timeout", timeout);
  app.add_option("--processor-time", processor_time);
  app.add_option("--memory", options.memory);
  app.add_option("--disk", options.disk);
  app.add_option("--files", options.files);
  app.add_option("--addresses", options.addresses);
  app.add_option("--processes", options.processes);
  app.add_option("--open-files", options.open_files);
  app.add_flag("--without-sandbox", without_sandbox);
  CLI11_PARSE(app, argc, argv);
  if (!readable.empty()) options.readable = {readable};
  if (!hidden.empty()) options.hidden = {hidden};
  options.command = app.remaining();
  options.timeout = std::chrono::milliseconds(timeout);
  options.processor_time = std::chrono::seconds(processor_time);
  options.is_sandboxed = !without_sandbox;
  if (options.user.empty() && ::geteuid() == 0) options.user = "nobody";
  if (!tree.empty()) {
    gate_case.visit_tree = [&](const FileVisitor& visit) { return visit_folder(tree, visit); };
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTERM, [](int) { interrupted = 1; });
  const auto verdict = run_gate(options, gate_case, [] { return interrupted != 0; });
  if (!verdict) {
    fmt::print("error\n{}\n", verdict.error().message);
    return 1;
  }
  constexpr std::array kNames = {"land", "skip", "later", "fail", "interrupted"};
  fmt::print("{}\n{}\n{}", kNames.at(static_cast<std::size_t>(verdict->decision)), verdict->reason,
             verdict->output);
  return 0;
}
