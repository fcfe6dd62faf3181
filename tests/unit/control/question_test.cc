#include "quarry/control/question.h"
#include "temporary_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/time.h>

#include <chrono>
#include <thread>

using namespace quarry::control;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;
using quarry::base::SocketAddress;

namespace {

struct World {
  TemporaryFolder folder;
  SocketAddress address = *SocketAddress::parse((folder / "socket").string());
};

}  // namespace

TEST_CASE("a question is one of two lines, and nothing else is one") {
  for (const Question question : {Question::kStatus, Question::kFullStatus}) {
    CHECK(parse_question(text_of(question)) == question);
    CHECK(text_of(question).size() < kMaxQuestion);
  }
  for (const char* line : {"", " status", "status ", "STATUS", "status fuller", "stop"}) {
    CHECK_FALSE(parse_question(line));
  }
}

TEST_CASE_FIXTURE(World, "asking without a master fails, whether its socket exists or not") {
  CHECK(ask(address, Question::kStatus).error().code == ErrorCode::kNotFound);
  { auto gone = quarry::base::listen_on(address); }
  const auto no_more = ask(address, Question::kStatus);
  REQUIRE_FALSE(no_more);
  CHECK(no_more.error().code == ErrorCode::kNotFound);
  CHECK(no_more.error().message.find("nothing listens") != std::string::npos);
}

TEST_CASE_FIXTURE(World, "a server that does not accept or answer causes a timeout") {
  const auto silent = quarry::base::listen_on(address, {.backlog = 0});
  REQUIRE(silent);
  for (int i = 0; i < 3; ++i) {
    CHECK(ask(address, Question::kStatus, 50ms).error().code == ErrorCode::kBusy);
  }
}

TEST_CASE_FIXTURE(World, "a truncated answer is requested once more") {
  const auto listener = quarry::base::listen_on(address);
  REQUIRE(listener);
  ::fcntl(listener->get(), F_SETFL, 0);
  const timeval patience{60, 0};
  ::setsockopt(listener->get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::thread server([&] {
    for (const std::string_view answer : {std::string_view("half"), std::string_view("whole\n")}) {
      const quarry::base::Fd client(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
      ::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  });
  const auto answer = ask(address, Question::kStatus);
  server.join();
  REQUIRE(answer);
  CHECK(*answer == "whole\n");
}
