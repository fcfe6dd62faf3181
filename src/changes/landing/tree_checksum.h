// The checksum over all files of a check-in: the argument of its R card.
//
//   MD5 of   NAME ' ' SIZE '\n' CONTENT   of all files, in order of names
//
// Consecutive check-ins have nearly all files in common. Therefore, the state of the digest is
// saved at checkpoints, and the next checksum continues from the last checkpoint before the first
// difference.
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
  /// Returns the checksum of TREE in hexadecimal digits. Passes on errors from CONTENTS.
  Result<std::string> of(const FileTree& tree, const ContentSource& contents);

 private:
  struct File {
    std::string name;
    artifact::HashName hash;
  };
  struct Checkpoint {
    std::size_t file;  // index of the next file
    artifact::RunningDigest digest;
  };
  std::size_t in_common(const FileTree& tree) const;

  std::vector<File> files_;              // files of the previous tree
  std::vector<Checkpoint> checkpoints_;  // positions in files_, in order
};

}  // namespace quarry::changes
