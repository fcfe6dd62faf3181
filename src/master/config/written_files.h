// Checks that files of different kinds which the server writes are different files: the pid file is
// overwritten, and logs of different kinds must not be mixed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace quarry::master {

class WrittenFiles {
 public:
  /// Adds the file PATH ("": none), which DIRECTIVE of SECTION names. Returns an error if another
  /// directive names it already; several pools may share a file of the same directive. Paths that are
  /// not regular files, such as /dev/stderr, may be shared by all.
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
