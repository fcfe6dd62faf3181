#include "quarry/repository/personal_address.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "world.h"

using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

std::string address_of(World& world, std::string_view login) {
  const auto snapshot = world.repository->snapshot();
  const auto address = personal_address(*world.repository, login);
  REQUIRE(address);
  return *address;
}

void add_user(World& world, const std::string& login, const std::string& cap,
              const std::string& info) {
  world.sql("INSERT INTO user(login,pw,cap,info) VALUES('" + login + "','x','" + cap + "','" +
            info + "')");
}

/// Creates fossil's table of subscribers.
void add_subscribers(World& world) {
  world.sql(
      "CREATE TABLE subscriber(subscriberId INTEGER PRIMARY KEY, subscriberCode BLOB,"
      " semail TEXT UNIQUE COLLATE nocase, suname TEXT, sverified BOOLEAN DEFAULT true,"
      " sdonotcall BOOLEAN, sdigest BOOLEAN, ssub TEXT, sctime INTDATE, mtime INTDATE, smip TEXT,"
      " lastContact INT)");
  world.sql("CREATE INDEX subscriberUname ON subscriber(suname) WHERE suname IS NOT NULL");
}

void subscribe(World& world, const std::string& login, const std::string& address,
               const std::string& is_verified, const std::string& wants_none) {
  world.sql("INSERT INTO subscriber(semail,suname,sverified,sdonotcall) VALUES('" + address +
            "','" + login + "'," + is_verified + "," + wants_none + ")");
}

}  // namespace

TEST_CASE("an address is a name and a domain without characters special to a header or a shell") {
  for (const char* good : {"ann@example.org", "a.b+c_d-e=f@mail.example.co.uk", "1@2.3"}) {
    CAPTURE(good);
    CHECK(is_mail_address(good));
  }
  const std::string many(70, 'a');
  for (const std::string& bad :
       {std::string(), std::string("@"), std::string("ann"), std::string("ann@"),
        std::string("@example.org"), std::string("ann@localhost"), std::string("-ann@example.org"),
        std::string("a b@example.org"), std::string("ann@example.org\nbcc: x@example.org"),
        std::string("<ann@example.org>"), std::string("ann@exa_mple.org"),
        std::string("ann@@example.org"), std::string(".ann@example.org"),
        std::string("a..b@example.org"), std::string("ann@.example.org"),
        std::string("ann@example.org."), std::string("ann@-example.org"), std::string("a,b@c.de"),
        many + "@example.org"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_mail_address(bad));
  }
  CHECK(mail_address_in("Ann Other <ann@example.org>, at home") == "ann@example.org");
  CHECK(mail_address_in("see @home, or ann@example.org.") == "ann@example.org");
  CHECK(mail_address_in("a@b, ann@example.org") == "ann@example.org");
  CHECK(mail_address_in("nobody at all").empty());
}

TEST_CASE("a login by e-mail address is a login of each user with this address") {
  World world;
  add_user(world, "pat", "io", "Pat <p@example.org>");
  add_user(world, "pa", "io", "Pa, email=p@example.org, home");
  add_user(world, "p", "io", "p@example.org");
  add_user(world, "longer", "io", "<pp@example.org> <p@example.org.uk> p@example.org;");
  add_user(world, "p@x", "io", "<p@example.org>");
  add_user(world, "q@example.org", "io", "");
  world.sql("INSERT INTO user(login,pw,cap,info) VALUES('without','x','io',NULL)");
  const auto snapshot = world.repository->snapshot();
  const auto users = [&](std::string_view name, std::size_t limit = 9) {
    auto found = users_for_login(*world.repository, name, limit);
    REQUIRE(found);
    std::ranges::sort(*found);
    return *found;
  };
  using Names = std::vector<std::string>;
  CHECK(users("p@example.org") == Names{"p", "pa", "pat"});
  CHECK(users("p@example.org", 2).size() == 2);
  CHECK(users("q@example.org") == Names{"q@example.org"});
  CHECK(users("P@example.org").empty());
  CHECK(users("@").empty());
}

TEST_CASE("without a subscription the address comes from the user's info") {
  World world;
  add_user(world, "pat", "io", "Pat <pat@example.org>");
  add_user(world, "bob", "io", "Bob");
  add_user(world, "cy", "", "Cy <cy@example.org>");
  add_user(world, "di", "i", "Di <di@example.org>");
  world.sql("UPDATE user SET cap='' WHERE login IN ('nobody','anonymous')");
  CHECK(address_of(world, "pat") == "pat@example.org");
  CHECK(address_of(world, "bob").empty());
  // cy does not have capabilities, di is not allowed to read check-ins, and eve is unknown.
  CHECK(address_of(world, "cy").empty());
  CHECK(address_of(world, "di").empty());
  CHECK(address_of(world, "eve").empty());
  CHECK(address_of(world, "PAT").empty());
  world.sql("UPDATE user SET cap='o' WHERE login='nobody'");
  CHECK(address_of(world, "di") == "di@example.org");
  CHECK(address_of(world, "cy").empty());
  world.sql("DELETE FROM user WHERE login='pat'");
  CHECK(address_of(world, "pat").empty());
}

TEST_CASE("a subscription takes precedence: its confirmed address, or an opt-out") {
  World world;
  add_subscribers(world);
  for (const char* login : {"pat", "bob", "cy", "di"}) {
    add_user(world, login, "io", std::string(login) + "@old.example.org");
  }
  subscribe(world, "pat", "pat@example.org", "1", "0");
  subscribe(world, "bob", "bob@example.org", "0", "0");
  subscribe(world, "cy", "cy@example.org", "1", "1");
  CHECK(address_of(world, "pat") == "pat@example.org");
  CHECK(address_of(world, "bob").empty());
  CHECK(address_of(world, "cy").empty());
  CHECK(address_of(world, "di") == "di@old.example.org");
  world.sql("UPDATE subscriber SET semail='pat@example.org' || char(10) || 'x' WHERE suname='pat'");
  CHECK(address_of(world, "pat").empty());
}
