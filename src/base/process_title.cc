#include "quarry/base/process_title.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace quarry::base {
namespace {

struct TitleMemory {
  std::span<char> arguments;
  std::span<char> all;  // the arguments and the environment
};

TitleMemory& title_memory() {
  static TitleMemory memory;
  return memory;
}

/// WORDS is a null-terminated array of strings. Its first strings are contiguous in memory, from
/// BEGIN on. Returns the end of the last of these.
char* end_of(char** words, char* begin) {
  for (char** word = words; *word == begin; ++word) begin += std::strlen(*word) + 1;
  return begin;
}

}  // namespace

void prepare_process_title(char** argv) {
  char* const arguments_end = end_of(argv, argv[0]);
  char* const end = end_of(environ, arguments_end);
  title_memory() = {{argv[0], arguments_end}, {argv[0], end}};
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  ::clearenv();
  for (const std::string& entry : entries) {
    const std::size_t name_end = entry.find('=');
    if (name_end == std::string::npos) continue;
    ::setenv(entry.substr(0, name_end).c_str(), entry.substr(name_end + 1).c_str(), 0);
  }
}

void set_process_title(std::string_view title) {
  const TitleMemory& memory = title_memory();
  if (memory.all.empty()) return;
  title = title.substr(0, memory.all.size() - 1);
  std::ranges::fill(memory.arguments, '\0');
  std::ranges::copy(title, memory.all.begin());
  memory.all[title.size()] = '\0';
}

}  // namespace quarry::base
