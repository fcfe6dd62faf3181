// A database that a test changes through SQLite, as fossil does.
#pragma once

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>

#include "temporary_folder.h"

class TestDatabase {
 public:
  explicit TestDatabase(const std::filesystem::path& file) {
    REQUIRE(::sqlite3_open(file.c_str(), &database_) == SQLITE_OK);
  }
  ~TestDatabase() { ::sqlite3_close(database_); }
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;
  void run(const std::string& sql) {
    REQUIRE(::sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }

 private:
  sqlite3* database_ = nullptr;
};
