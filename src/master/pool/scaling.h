// Keeps the children of a service running. The decisions of the service's policy are carried out
// every second and when a child has exited. In ondemand pools, decisions are also carried out when
// a connection waits.
//
// The listening socket of an ondemand pool is watched as described in
// php-src/sapi/fpm/fpm/DESIGN.md. The socket is polled level-triggered. The socket stays readable
// until a child has called accept(), so it is removed from the poll each time that it fires. Then:
//
//   a child is idle          the child will call accept() and then write to the child_accept pipe
//   a child is started       the new child does the same; its first accept() does not block if
//                            another child was faster
//   neither is possible      the connection waits until a child calls accept() again, or ends
//
// The socket is polled again after a write to the pipe and after a child exits. The socket is also
// polled again every second, because of failed starts and of idle children that never call
// accept().
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "children.h"
#include "crash_policy.h"
#include "pool_policy.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/pipe.h"

namespace quarry::master {

class Scaling final : public Starter {
 public:
  /// Creates a starter. All arguments must outlive this object.
  Scaling(Children& children, event_base* base, const MasterState& master_state,
          const ProcessMax& bound);

  Result<void> set_up() override;
  bool begin() override;
  void second_passed() override;
  Vacancy child_ended(const Remains& remains) override;
  void fill_vacancy(const Remains& remains) override;
  void room_available() override;
  bool is_short() const override;

 private:
  /// Returns whether starts are delayed because of a crash loop.
  bool is_backing_off() const { return respawn_timer_.is_timed(); }
  bool may_start() const;
  void maintain();
  void carry_out(const Decision& decision, const IdleChildren& idle);
  void hold_back(std::size_t children);
  void give(Advice advice);
  void watch_listener();
  void on_connection();
  void on_accepted();

  Children& children_;
  const Service& service_;
  event_base* base_;
  const MasterState& master_state_;
  const ProcessMax& bound_;
  std::unique_ptr<PoolPolicy> policy_;
  RespawnPolicy respawn_;
  base::Event respawn_timer_;
  std::chrono::steady_clock::time_point was_held_back_;  // when process.max last prevented a start
  Advice advice_ = Advice::kNone;
  // For ondemand pools:
  base::Pipe child_accept_;  // see ChildContext
  base::Event accepted_;
  base::Event connection_;  // pending only while a connection may require a new child
  std::optional<std::chrono::steady_clock::time_point> left_to_idle_;  // see on_connection()
};

}  // namespace quarry::master
