#include "leases.h"

#include <doctest/doctest.h>
#include <sys/eventfd.h>

#include "eventually.h"
#include "memory_stream.h"
#include "quarry/base/socket.h"
#include "quarry/base/split.h"
#include "quarry/control/publication.h"
#include "temporary_folder.h"

using namespace quarry;
using namespace std::chrono_literals;

namespace {

/// The leases of a host, with a socket. All requests are about the repository `a` of the pool `www`.
class LeaseHost {
 public:
  LeaseHost(const std::string& name, MemoryEngine& engine, replica::LeasesOptions options)
      : stream_(engine, name) {
    options.host = name;
    leases_.emplace(stream_, options);
    auto listener = base::listen_on(*base::SocketAddress::parse(socket()));
    REQUIRE(listener);
    server_ = std::thread([this, fd = std::move(*listener)]() mutable {
      auto created = replica::SocketServer::create(
          std::move(fd), [this](std::string_view request, replica::SocketServer::Answer answer) {
            CHECK(base::take_until(request, ' ') == "lease");
            leases_->hold(std::string(base::take_until(request, ' ')), std::move(answer));
          });
      REQUIRE(created);
      (*created)->run(stop_.get(), [] { return false; });
    });
  }
  ~LeaseHost() {
    const std::uint64_t one = 1;
    CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one);
    server_.join();
  }

  std::optional<control::Lease> lease(std::string_view key = "key") const {
    auto got = control::Publication(socket(), kPatienceTime).lease("www", "a", key);
    REQUIRE_MESSAGE(got.has_value(), (got ? "" : got.error().message));
    return std::move(*got);
  }
  bool has_free_lease() const { return lease().has_value(); }

 private:
  std::string socket() const { return (folder_ / "socket").string(); }

  TemporaryFolder folder_;
  MemoryStream stream_;
  base::Fd stop_{::eventfd(0, EFD_CLOEXEC)};
  std::optional<replica::Leases> leases_;
  std::thread server_;
};

struct TwoHosts {
  MemoryEngine engine;
  std::optional<LeaseHost> one;
  std::optional<LeaseHost> two;

  void start(const replica::LeasesOptions& options = {}) {
    one.emplace("one", engine, options);
    two.emplace("two", engine, options);
  }
};

}  // namespace

TEST_CASE_FIXTURE(TwoHosts, "one client holds a lease until it disconnects") {
  start();
  auto held = one->lease();
  REQUIRE(held);
  CHECK_FALSE(one->has_free_lease());
  CHECK_FALSE(two->has_free_lease());
  CHECK(two->lease("other"));
  CHECK(held->is_held());
  held.reset();
  CHECK(eventually([&] { return two->has_free_lease(); }));
}

TEST_CASE_FIXTURE(TwoHosts, "a lease is given back when its quarry-replica stops") {
  start();
  const auto held = one->lease();
  REQUIRE(held);
  one.reset();
  CHECK_FALSE(held->is_held());
  CHECK(two->lease());
}

TEST_CASE_FIXTURE(TwoHosts, "a lease that expired and was taken is lost") {
  start({.host = {}, .renew_interval = 10ms});
  const auto held = one->lease();
  REQUIRE(held);
  // The renewal can come between the expiry and the request.
  std::optional<control::Lease> taken;
  CHECK(eventually([&] {
    engine.expire(replica::Bucket::kLeases);
    taken = two->lease();
    return taken.has_value();
  }));
  CHECK(eventually([&] { return !held->is_held(); }));
  CHECK(taken->is_held());
}

TEST_CASE_FIXTURE(TwoHosts, "a lease that cannot be renewed is lost") {
  start({.host = {}, .renew_interval = 10ms, .lost_after = 50ms});
  const auto held = one->lease();
  REQUIRE(held);
  engine.set_quorum(false);
  CHECK(eventually([&] { return !held->is_held(); }));
  engine.set_quorum(true);
  CHECK(one->lease());  // the host takes over its own lease
}
