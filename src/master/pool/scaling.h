// How many children a service that is kept running has: its policy decides, this carries out. Every
// second, when a child has ended, and, for ondemand pools, when a connection waits.
//
// When the listening socket of an ondemand pool is watched follows
// php-src/sapi/fpm/fpm/DESIGN.md. It is polled level-triggered, and taken out of the poll each time
// that it fires, since it stays readable until some child has called accept():
//
//   an idle child is there   it is on its way to accept(), and says so on the child_accept pipe
//   a child is started       so does this one, after its first accept(), which does not block:
//                            a sibling may have been quicker
//   neither is possible      there is nothing to do until a child is in accept() again, or ends
//
// What comes over the pipe puts the socket back, as the end of a child does, and the tick of every
// second: for what could not be done then, and for an idle child that never gets to accept().
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "children.h"
#include "pool_policy.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "respawn_policy.h"
#include "starter.h"

namespace quarry::master {

class Scaling final : public Starter {
 public:
  /// Of CHILDREN, with events of BASE; both, and MASTER_STATE and BOUND, must outlive it.
  Scaling(Children& children, event_base* base, const MasterState& master_state,
          const ProcessMax& bound);

  base::Result<void> set_up() override;
  bool begin() override;
  void second_passed() override;
  Vacancy child_ended(const Remains& remains) override;
  void fill_vacancy(const Remains& remains) override;
  void room_available() override;
  bool is_short() const override;

 private:
  /// Children are not started for a while, since they end too soon.
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
  std::chrono::steady_clock::time_point was_held_back_;  // last, by process.max
  Advice advice_ = Advice::kNone;                        // that was given last
  // Of a pool that is woken by connections:
  base::Fd accept_read_;  // the child_accept pipe
  base::Fd accept_write_;
  base::Event accepted_;
  base::Event connection_;  // does not wait: nobody has to be started for what waits
  std::optional<std::chrono::steady_clock::time_point> left_to_idle_;  // see on_connection()
};

}  // namespace quarry::master
