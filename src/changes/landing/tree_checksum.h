// The checksum over all files of a check-in: the argument of its R card.
//
//   MD5 of, for every file in the order of names:   NAME ' ' SIZE '\n' CONTENT
//
// One check-in after the other is summed up, and each has nearly all files in common with the one
// before. So the state of the digest is kept at places along the way, and the next sum goes on from
// the last place before which nothing differs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/artifact/running_digest.h"
#include "quarry/base/result.h"
#include "quarry/changes/tree.h"

namespace quarry::changes {

class TreeChecksum {
 public:
  /// The checksum of TREE in hexadecimal digits. Errors: those of CONTENTS.
  base::Result<std::string> of(const FileTree& tree, const ContentSource& contents);

 private:
  struct File {
    std::string name;
    artifact::HashName hash;
  };
  struct Checkpoint {
    std::size_t file;  // that comes next
    artifact::RunningDigest digest;
  };
  std::size_t in_common(const FileTree& tree) const;

  std::vector<File> files_;              // of the tree before
  std::vector<Checkpoint> checkpoints_;  // along it
};

}  // namespace quarry::changes
