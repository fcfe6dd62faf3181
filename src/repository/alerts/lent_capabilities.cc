#include "lent_capabilities.h"

namespace quarry::repository {

LentCapabilities lent_capabilities(Database& database) {
  LentCapabilities lent;
  Query query = database.query(
      "SELECT login, cap FROM user WHERE login IN ('anonymous','developer','nobody','reader')");
  while (query.step()) {
    const std::string_view login = query.text(0);
    std::string& to = login == "developer" ? lent.developer
                      : login == "reader"  ? lent.reader
                                           : lent.everybody;
    to += query.text(1);
  }
  return lent;
}

/// `v` inherits from `developer`, and `u` from `reader`. As in fossil, `v` is applied before `u`:
/// an inherited `u` takes effect, but an inherited `v` does not.
std::string all_capabilities(std::string_view own, const LentCapabilities& lent) {
  std::string all(own);
  if (all.find('v') != std::string::npos) all += lent.developer;
  if (all.find('u') != std::string::npos) all += lent.reader;
  return all + lent.everybody;
}

}  // namespace quarry::repository
