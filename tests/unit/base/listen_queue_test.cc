#include "quarry/base/listen_queue.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "connect_to.h"
#include "quarry/base/fd.h"
#include "quarry/base/socket.h"
#include "temporary_folder.h"

using namespace quarry::base;

namespace {

/// Connects COUNT clients to LISTENER. Their connections are not accepted.
std::vector<Fd> wait_at(const Fd& listener, int count) {
  const auto address = local_address(listener);
  REQUIRE(address);
  std::vector<Fd> clients;
  for (int i = 0; i < count; ++i) clients.push_back(std::move(*connect_to(*address)));
  return clients;
}

void check_queue(const std::string& place) {
  CAPTURE(place);
  const auto address = SocketAddress::parse(place);
  REQUIRE(address);
  const auto listener = listen_on(*address, {.backlog = 9});
  REQUIRE(listener);
  const ListenQueue queue = ListenQueue::of(listener->get());
  REQUIRE(queue.length());
  CHECK(queue.length()->waiting == 0);
  CHECK(queue.length()->limit == 9);
  const auto clients = wait_at(*listener, 3);
  CHECK(queue.length()->waiting == 3);
  const Fd taken(::accept(listener->get(), nullptr, nullptr));
  CHECK(queue.length()->waiting == 2);
}

}  // namespace

TEST_CASE("the queue of a listening socket can be read without holding it") {
  const TemporaryFolder folder;
  check_queue((folder / "socket").string());
  check_queue("127.0.0.1:0");
  check_queue("[::1]:0");
}

TEST_CASE("a socket that does not listen does not have a queue") {
  CHECK_FALSE(ListenQueue().length());
  CHECK_FALSE(ListenQueue::of(-1).length());
  CHECK_FALSE(ListenQueue::of(0).length());
  const Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  CHECK_FALSE(ListenQueue::of(socket.get()).length());
}
