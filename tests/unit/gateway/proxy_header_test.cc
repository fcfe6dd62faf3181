#include "proxy_header.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::gateway;
using namespace std::string_literals;

namespace {

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

/// Returns the client's address in the header BYTES, "none" if the header has no client, "more" if
/// BYTES is incomplete, or "malformed".
std::string client_in(const std::string& bytes) {
  const auto parsed = parse_proxy_header(bytes);
  if (!parsed) return "malformed";
  if (!*parsed) return "more";
  CHECK((*parsed)->size <= bytes.size());
  return (*parsed)->client ? (*parsed)->client->str() : "none";
}

}  // namespace

TEST_CASE("version 1 of the PROXY header names the client") {
  const std::string text = "PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n";
  CHECK(client_in(text) == "192.0.2.1:56324");
  CHECK((*parse_proxy_header(text + "GET /"))->size == text.size());
  CHECK(client_in("PROXY TCP6 2001:db8::1 ::1 1 65535\r\n") == "[2001:db8::1]:1");
  CHECK(client_in("PROXY UNKNOWN\r\n") == "none");
  CHECK(client_in("PROXY UNKNOWN anything else\r\n") == "none");
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK(client_in(text.substr(0, size)) == "more");
  }
}

TEST_CASE("version 2 of the PROXY header names the client") {
  const std::string addresses = "\xC0\0\2\1\xC6\x33\x64\2\xDC\4\1\xBB"s;
  const std::string ipv4 = kSignature + "\x21\x11\0\x0C"s + addresses;
  CHECK(client_in(ipv4) == "192.0.2.1:56324");
  // Additional values after the addresses are skipped.
  const std::string longer = kSignature + "\x21\x11\0\x0F"s + addresses + "\4\0\0"s;
  CHECK((*parse_proxy_header(longer + "GET /"))->size == longer.size());
  const std::string ipv6 = " \1\r\xB8"s + std::string(11, '\0') + "\1"s;
  CHECK(client_in(kSignature + "\x21\x21\0\x24"s + ipv6 + ipv6 + "\0\1\1\xBB"s) ==
        "[2001:db8::1]:1");
  CHECK(client_in(kSignature + "\x20\0\0\0"s) == "none");
  CHECK(client_in(kSignature + "\x21\x31\0\1x"s) == "none");
  for (std::size_t size = 0; size < ipv4.size(); ++size) {
    CHECK(client_in(ipv4.substr(0, size)) == "more");
  }
}

TEST_CASE("a malformed PROXY header is refused") {
  for (const std::string& bytes :
       {"GET / HTTP/1.1\r\n"s, "proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n"s, "PROXY TCP4 1 2 3\r\n"s,
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n"s, "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n"s,
        "PROXY TCP4 ::1 ::1 1 2\r\n"s, "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n"s,
        "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n"s, "PROXY UNKNOWN"s + std::string(100, ' '),
        kSignature + "\x31\x11\0\x0C"s, kSignature + "\x22\x11\0\x0C"s,
        kSignature + "\x21\x11\0\4abcd"s, kSignature + "\x21\x11\xFF\xFF"s}) {
    CAPTURE(bytes);
    CHECK(client_in(bytes) == "malformed");
  }
}
