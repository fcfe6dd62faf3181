#include "support.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace quarry::artifact::test {

Random::Random() {
  const char* const given = std::getenv("QUARRY_TEST_SEED");
  seed_ = given ? std::stoull(given) : std::random_device()();
  engine_.seed(seed_);
}

std::string Random::bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(engine_());
  return bytes;
}

std::string Random::text(std::size_t size) {
  std::string text;
  while (text.size() < size) {
    text += fmt::format("{:x}", below(500) * 7919);
    text += below(8) == 0 ? '\n' : ' ';
  }
  text.resize(size);
  return text;
}

std::string Random::edited(std::string_view original) {
  std::string text(original);
  for (std::size_t edits = below(12); edits > 0; --edits) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(200), text.size() - at);
    switch (below(4)) {
      case 0:
        text.replace(at, length, bytes(below(200)));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, bytes(below(64)));
        break;
      default: {
        const std::string moved = text.substr(at, length);
        text.erase(at, length);
        text.insert(below(text.size() + 1), moved);
      }
    }
  }
  return text;
}

std::string TempDir::write(std::string_view name, std::string_view content) const {
  std::ofstream file(path(name), std::ios::binary);
  file << content;
  if (!file.flush()) throw std::runtime_error("cannot write " + path(name));
  return path(name);
}

std::string TempDir::read(std::string_view name) const {
  std::ifstream file(path(name), std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path(name));
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

std::string TempDir::shell(const std::string& script) const {
  const std::string command =
      fmt::format("exec 2>&1; cd '{0}' || exit 1; HOME='{0}'; USER=root; export HOME USER; {1}",
                  folder_.string(), script);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot run a shell");
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    output.append(buffer.data(), n);
  }
  return output;
}

bool have_fossil() {
  static const bool there = system("command -v fossil >/dev/null") == 0;
  return there;
}

}  // namespace quarry::artifact::test
