#include "fastcgi/record_writer.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "quarry/base/fd.h"
#include "quarry/http/fastcgi.h"

using quarry::base::Fd;
using quarry::worker::send_stdout_records;

namespace {

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    here.reset(ends[0]);
    there.reset(ends[1]);
  }
  Fd here, there;
};

std::string read_all(int fd) {
  std::string bytes;
  std::array<char, 4096> piece{};
  for (ssize_t size = 0; (size = ::read(fd, piece.data(), piece.size())) > 0;) {
    bytes.append(piece.data(), static_cast<std::size_t>(size));
  }
  return bytes;
}

/// Returns the joined contents of the STDOUT records of REQUEST_ID. Returns "(bad record)" if any
/// record is invalid.
std::string contents(std::string_view records, int request_id) {
  std::string joined;
  quarry::http::RecordReader reader;
  while (const auto part = reader.next(records)) {
    const auto& [type, id, content_length, padding_length] = part->header;
    if (type != FCGI_STDOUT || id != request_id || content_length == 0 || padding_length != 0 ||
        !part->is_last) {
      return "(bad record)";
    }
    joined += part->content;
  }
  return records.empty() && !reader.is_malformed() ? joined : "(bad record)";
}

}  // namespace

TEST_CASE("a large reply arrives as STDOUT records, complete and in order, through a slow socket") {
  std::string reply;
  for (int i = 0; reply.size() < 5000000; ++i) reply += std::to_string(i) + ' ';
  Pair pair;
  std::string arrived;
  std::thread reader([&] { arrived = read_all(pair.there.get()); });
  CHECK(send_stdout_records(pair.here.get(), 259, reply));
  pair.here.reset();
  reader.join();
  CHECK(contents(arrived, 259) == reply);
}

TEST_CASE("sending to a disconnected peer fails and raises no signal") {
  Pair pair;
  pair.there.reset();
  CHECK_FALSE(send_stdout_records(pair.here.get(), 1, std::string(100000, 'x')));
}

TEST_CASE("sending to a peer that does not read ends with the socket's timeout") {
  Pair pair;
  const timeval limit{0, 50000};
  REQUIRE(::setsockopt(pair.here.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
  CHECK_FALSE(send_stdout_records(pair.here.get(), 1, std::string(10000000, 'x')));
}
