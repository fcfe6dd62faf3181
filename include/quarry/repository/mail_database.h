// A database that mails are put into instead of being sent (fossil's email-send-method `db`):
// another program takes them from there.
//
//   email(emailid INTEGER PRIMARY KEY, msg TEXT)
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::repository {

class Database;

class MailDatabase {
 public:
  /// Makes PATH and its table where they are not there. Errors: kBusy, kNoSpace, kIo.
  static base::Result<std::unique_ptr<MailDatabase>> open(const std::filesystem::path& path);
  ~MailDatabase();

  /// Errors: the same.
  base::Result<void> add(std::string_view message);

 private:
  MailDatabase(std::filesystem::path path, std::unique_ptr<Database> database);
  std::filesystem::path path_;
  std::unique_ptr<Database> database_;
};

}  // namespace quarry::repository
