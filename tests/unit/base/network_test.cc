#include "quarry/base/network.h"

#include <doctest/doctest.h>

using quarry::base::network_of;

TEST_CASE("an IPv4 address or other text counts for itself, an IPv6 address for its /64") {
  CHECK(network_of("192.0.2.1") != network_of("192.0.2.2"));
  CHECK(network_of("192.0.2.1") == network_of("::ffff:192.0.2.1"));
  CHECK(network_of("2001:db8::1") == network_of("2001:db8:0:0:ffff::"));
  CHECK(network_of("2001:db8::1") != network_of("2001:db8:0:1::1"));
  CHECK(network_of("") == "");
  CHECK(network_of("unix:") == "unix:");
}
