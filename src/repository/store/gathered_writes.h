// Gathers the pages that SQLite writes to a new database file into large writes. Each write of a
// single page costs the kernel about as much processor time as a large write.
//
//   page  page  page  ...  page      one write: adjacent pages, up to kSize bytes
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <vector>

#include "database.h"

namespace quarry::repository {

/// While an object of this class exists, it replaces SQLite's I/O methods of the file, and the
/// database cannot enter WAL mode.
class GatheredWrites {
 public:
  /// FILE is a descriptor of DATABASE's file. Neither is owned.
  GatheredWrites(Database& database, int file);
  ~GatheredWrites();
  GatheredWrites(const GatheredWrites&) = delete;
  GatheredWrites& operator=(const GatheredWrites&) = delete;

  /// Writes the pages that have not been written yet. Returns a code of SQLite.
  int flush();

 private:
  static constexpr std::uint64_t kSize = std::uint64_t{512} << 10;
  // SQLite passes a pointer to `methods`.
  struct Methods {
    sqlite3_io_methods methods;
    GatheredWrites* owner;
  };

  static GatheredWrites& owner_of(sqlite3_file* file);
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset);
  static int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset);
  static int truncate(sqlite3_file* file, sqlite3_int64 size);
  static int file_size(sqlite3_file* file, sqlite3_int64* size);

  sqlite3_file* sqlite_file_ = nullptr;
  const sqlite3_io_methods* below_ = nullptr;
  Methods methods_{};
  int file_;
  std::vector<char> block_ = std::vector<char>(kSize);
  std::uint64_t begin_ = 0;  // position of the block in the file
  std::uint64_t used_ = 0;   // bytes
};

}  // namespace quarry::repository
