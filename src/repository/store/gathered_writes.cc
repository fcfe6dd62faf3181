#include "gathered_writes.h"

#include <cerrno>
#include <cstring>
#include <type_traits>

#include "quarry/base/transfer.h"

namespace quarry::repository {

GatheredWrites::GatheredWrites(Database& database, int file) : file_(file) {
  const int code = sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_FILE_POINTER,
                                        static_cast<void*>(&sqlite_file_));
  if (code != SQLITE_OK) database.raise(code);
  below_ = sqlite_file_->pMethods;
  methods_ = {*below_, this};
  methods_.methods.iVersion = 1;  // without shared memory, which WAL mode needs
  methods_.methods.xWrite = write;
  methods_.methods.xRead = read;
  methods_.methods.xTruncate = truncate;
  methods_.methods.xFileSize = file_size;
  sqlite_file_->pMethods = &methods_.methods;
}

GatheredWrites::~GatheredWrites() {
  sqlite_file_->pMethods = below_;
}

int GatheredWrites::flush() {
  const std::string_view bytes(block_.data(), used_);
  if (!base::write_all_at(file_, bytes, begin_)) {
    return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
  used_ = 0;
  return SQLITE_OK;
}

GatheredWrites& GatheredWrites::owner_of(sqlite3_file* file) {
  static_assert(std::is_standard_layout_v<Methods>);
  return *reinterpret_cast<const Methods*>(file->pMethods)->owner;
}

int GatheredWrites::write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  GatheredWrites& self = owner_of(file);
  const auto begin = static_cast<std::uint64_t>(offset);
  const auto length = static_cast<std::uint64_t>(size);
  const bool fits = begin == self.begin_ + self.used_ && self.used_ + length <= kSize;
  if (!fits) {
    if (const int code = self.flush(); code != SQLITE_OK) return code;
    self.begin_ = begin;
  }
  std::memcpy(self.block_.data() + self.used_, bytes, length);
  self.used_ += length;
  return SQLITE_OK;
}

int GatheredWrites::read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  GatheredWrites& self = owner_of(file);
  const int code = self.flush();
  return code != SQLITE_OK ? code : self.below_->xRead(file, bytes, size, offset);
}

int GatheredWrites::truncate(sqlite3_file* file, sqlite3_int64 size) {
  GatheredWrites& self = owner_of(file);
  const int code = self.flush();
  return code != SQLITE_OK ? code : self.below_->xTruncate(file, size);
}

int GatheredWrites::file_size(sqlite3_file* file, sqlite3_int64* size) {
  GatheredWrites& self = owner_of(file);
  const int code = self.flush();
  return code != SQLITE_OK ? code : self.below_->xFileSize(file, size);
}

}  // namespace quarry::repository
