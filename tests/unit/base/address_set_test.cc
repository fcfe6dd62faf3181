#include "quarry/base/address_set.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace quarry;
using base::AddressSet;

namespace {

AddressSet set_of(const std::vector<std::string>& entries) {
  auto set = AddressSet::parse(entries);
  REQUIRE(set);
  return *set;
}

base::SocketAddress ip(std::string_view text) {
  auto address = base::SocketAddress::parse_ip(text);
  REQUIRE(address);
  return *address;
}

}  // namespace

TEST_CASE("an address is in the networks that share its first bits") {
  const AddressSet set = set_of({"10.1.0.0/16", "192.168.7.128/25", "127.0.0.1", "fd00:1::/32"});
  CHECK(set.contains(ip("10.1.255.255")));
  CHECK_FALSE(set.contains(ip("10.2.0.0")));
  CHECK(set.contains(ip("192.168.7.200")));
  CHECK_FALSE(set.contains(ip("192.168.7.127")));
  CHECK(set.contains(ip("127.0.0.1")));
  CHECK_FALSE(set.contains(ip("127.0.0.2")));
  CHECK(set.contains(ip("fd00:1:ffff::1")));
  CHECK_FALSE(set.contains(ip("fd00:2::1")));
}

TEST_CASE("an IPv4 address written as IPv6 is the same address") {
  CHECK(set_of({"10.0.0.0/8"}).contains(ip("::ffff:10.9.8.7")));
  CHECK_FALSE(set_of({"10.0.0.0/8"}).contains(ip("::ffff:11.9.8.7")));
}

TEST_CASE("zero bits are every address of the family, and the empty set contains none") {
  CHECK(set_of({"0.0.0.0/0"}).contains(ip("203.0.113.5")));
  CHECK_FALSE(set_of({"0.0.0.0/0"}).contains(ip("2001:db8::1")));
  CHECK_FALSE(AddressSet().contains(ip("127.0.0.1")));
}

TEST_CASE("an invalid network is refused and named") {
  for (const char* text : {"", "proxy.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
                           "::1/129", "10.0.0.0/8/8", "10.0.0/8", "10.0.0.0/8 "}) {
    CAPTURE(text);
    const std::vector<std::string> entries = {"127.0.0.1", text};
    CHECK_FALSE(AddressSet::parse(entries));
  }
}
