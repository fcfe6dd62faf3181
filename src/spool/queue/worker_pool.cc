#include "worker_pool.h"

#include <algorithm>
#include <iterator>
#include <system_error>

namespace quarry::spool {

std::size_t WorkerPool::alive() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      workers_, [](const auto& worker) { return worker->state != Worker::State::kEnded; }));
}

bool WorkerPool::any_starting() const {
  return std::ranges::any_of(
      workers_, [](const auto& worker) { return worker->state == Worker::State::kStarting; });
}

void WorkerPool::join_ended() {
  std::erase_if(workers_, [](const std::shared_ptr<Worker>& worker) {
    if (worker->state != Worker::State::kEnded) return false;
    // The caller holds the queue's mutex, but joining cannot deadlock. A worker that has set its
    // state to kEnded does not lock the mutex again.
    worker->thread.join();
    return true;
  });
}

bool WorkerPool::advise(std::size_t wanted) {
  if (alive() >= std::min(wanted, max_)) return true;
  join_ended();
  while (workers_.size() < std::min(wanted, max_)) {
    auto worker = std::make_shared<Worker>();
    try {
      worker->thread = Thread([main = main_, worker] { main(*worker); });
    } catch (const std::system_error&) {
      return false;
    }
    workers_.push_back(std::move(worker));
  }
  return true;
}

void WorkerPool::retire(bool retired) {
  for (const auto& worker : workers_) worker->is_retired = retired;
}

void WorkerPool::request_stop() {
  for (const auto& worker : workers_) worker->stop.request_stop();
}

std::vector<std::shared_ptr<Worker>> WorkerPool::leave_consuming() {
  std::vector<std::shared_ptr<Worker>> left;
  std::ranges::copy_if(workers_, std::back_inserter(left),
                       [](const auto& worker) { return worker->is_consuming; });
  std::erase_if(workers_, [](const auto& worker) { return worker->is_consuming; });
  for (const auto& worker : left) {
    worker->is_left = true;
    worker->thread.detach();
  }
  return left;
}

}  // namespace quarry::spool
