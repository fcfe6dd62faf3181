#include "quarry/repository/mail_database.h"

#include "store/database.h"

namespace quarry::repository {

MailDatabase::MailDatabase(std::filesystem::path path, std::unique_ptr<Database> database)
    : path_(std::move(path)), database_(std::move(database)) {}

MailDatabase::~MailDatabase() = default;

Result<std::unique_ptr<MailDatabase>> MailDatabase::open(const std::filesystem::path& path) {
  return guarded(path, [&] {
    auto database =
        std::make_unique<Database>(path, Database::Mode::kCreate, std::chrono::seconds(10));
    database->execute("CREATE TABLE IF NOT EXISTS email(emailid INTEGER PRIMARY KEY, msg TEXT)");
    return std::unique_ptr<MailDatabase>(new MailDatabase(path, std::move(database)));
  });
}

Result<void> MailDatabase::add(std::string_view message) {
  return guarded(path_, [&] { database_->execute("INSERT INTO email(msg) VALUES(?1)", message); });
}

}  // namespace quarry::repository
