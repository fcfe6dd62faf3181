// A database that stores emails for another program to send (fossil's email-send-method `db`).
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
  /// Creates PATH and its table if they do not exist. Errors: kBusy, kNoSpace, kIo.
  static Result<std::unique_ptr<MailDatabase>> open(const std::filesystem::path& path);
  ~MailDatabase();

  /// Stores MESSAGE. Errors: kBusy, kNoSpace, kIo.
  Result<void> add(std::string_view message);

 private:
  MailDatabase(std::filesystem::path path, std::unique_ptr<Database> database);
  std::filesystem::path path_;
  std::unique_ptr<Database> database_;
};

}  // namespace quarry::repository
