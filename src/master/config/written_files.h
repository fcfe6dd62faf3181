// The files that a configuration has the server write: that no two of different kinds are one. The
// pid file is overwritten, and a log with lines of another kind is no use to who reads either.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace quarry::master {

class WrittenFiles {
 public:
  /// DIRECTIVE of SECTION names the file PATH ("": none). Returns what is wrong where another
  /// directive names it already; pools may share the file of one. What is no file, such as
  /// /dev/stderr, may take lines of all kinds.
  std::optional<std::string> add(const std::string& section, const std::string& directive,
                                 const std::string& path);

 private:
  struct Named {
    std::string section;
    std::string directive;
    std::string path;
  };
  std::vector<Named> files_;
};

}  // namespace quarry::master
