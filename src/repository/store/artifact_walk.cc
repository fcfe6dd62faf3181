#include "artifact_walk.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace quarry::repository {
namespace {

constexpr unsigned kMaxHelpers = 3;
// Limits on the size of contents that are waiting for inspection, in bytes: per batch and in total.
constexpr std::size_t kBatch = std::size_t{256} << 10;
constexpr std::size_t kMaxWaiting = std::size_t{24} << 20;
constexpr std::size_t kMaxPerBatch = 256;  // artifacts

unsigned spare_processors() {
  const unsigned processors = std::thread::hardware_concurrency();
  return std::min(processors > 1 ? processors - 1 : 0, kMaxHelpers);
}

struct Job {
  ArtifactWalk::Artifact artifact;
  Content content;
};

}  // namespace

/// The threads that inspect contents. If they are too slow, the calling thread does a part of the
/// work.
class ArtifactWalk::Inspectors {
 public:
  /// INSPECT is not owned.
  Inspectors(const decltype(Visitor::inspect)& inspect, unsigned helpers) : inspect_(inspect) {
    threads_.reserve(helpers);
    try {
      while (threads_.size() < helpers) threads_.emplace_back([this] { run(); });
    } catch (const std::exception&) {
      // If the system does not allow more threads, the existing threads or the calling thread do
      // the work.
    }
  }
  ~Inspectors() {
    {
      const std::scoped_lock lock(mutex_);
      batches_.clear();
    }
    end();
  }
  Inspectors(const Inspectors&) = delete;
  Inspectors& operator=(const Inspectors&) = delete;

  void add(Artifact artifact, Content content) {
    size_ += content->size();
    batch_.push_back({std::move(artifact), std::move(content)});
    if (size_ >= kBatch || batch_.size() >= kMaxPerBatch) dispatch();
  }
  /// Waits until all contents have been inspected. If a thread has thrown an exception, rethrows
  /// it.
  void finish() {
    dispatch();
    while (inspect_one()) {
    }
    end();
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  struct Batch {
    std::vector<Job> jobs;
    std::size_t size = 0;
  };

  void dispatch() {
    bool is_backlogged = false;
    {
      const std::scoped_lock lock(mutex_);
      if (thrown_) std::rethrow_exception(thrown_);
      waiting_ += size_;
      batches_.push_back({std::move(batch_), size_});
      is_backlogged = waiting_ > kMaxWaiting || threads_.empty();
    }
    batch_.clear();
    size_ = 0;
    there_is_work_.notify_one();
    if (is_backlogged) inspect_one();
  }

  void inspect(Batch batch) {
    for (Job& job : batch.jobs) {
      inspect_(job.artifact, *job.content);
      job.content.reset();
    }
  }

  bool inspect_one() {
    std::unique_lock lock(mutex_);
    if (batches_.empty()) return false;
    Batch batch = take();
    lock.unlock();
    inspect(std::move(batch));
    return true;
  }

  Batch take() {
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    waiting_ -= batch.size;
    return batch;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      there_is_work_.wait(lock, [this] { return is_ending_ || !batches_.empty(); });
      if (batches_.empty()) return;
      Batch batch = take();
      lock.unlock();
      std::exception_ptr thrown;
      try {
        inspect(std::move(batch));
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !thrown_) thrown_ = thrown;
    }
  }

  void end() {
    {
      const std::scoped_lock lock(mutex_);
      is_ending_ = true;
    }
    there_is_work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const decltype(Visitor::inspect)& inspect_;
  std::vector<Job> batch_;  // used by the calling thread only
  std::size_t size_ = 0;
  std::mutex mutex_;
  std::condition_variable there_is_work_;
  std::deque<Batch> batches_;
  std::size_t waiting_ = 0;
  bool is_ending_ = false;
  std::exception_ptr thrown_;
  std::vector<std::thread> threads_;
};

/// An artifact on the current path. Some deltas on it have not been visited yet.
struct ArtifactWalk::Branch {
  Rid rid;
  Result<Content> content;  // null if the artifact must be expanded again
  std::size_t next = 0;
};

const std::vector<Rid>& ArtifactWalk::children_of(Rid rid) const {
  static const std::vector<Rid> kNone;
  const auto found = nodes_.find(rid);
  return found == nodes_.end() ? kNone : found->second.children;
}

/// Returns the roots of the trees, in rid order.
std::vector<Rid> ArtifactWalk::read_trees() {
  {
    Query query = database_.query("SELECT rid, srcid FROM delta ORDER BY rid");
    while (query.step()) {
      if (query.integer(1) == 0) continue;
      nodes_[query.integer(0)].source = query.integer(1);
      nodes_[query.integer(1)].children.push_back(query.integer(0));
    }
  }
  std::vector<Rid> roots;
  {
    Query query = database_.query("SELECT rid FROM blob ORDER BY rid");
    while (query.step()) {
      ++total_;
      const auto found = nodes_.find(query.integer(0));
      if (found == nodes_.end() || found->second.source == 0) roots.push_back(query.integer(0));
    }
  }
  // Add sources that are missing from `blob`, so that deltas on them are also visited.
  Query query = database_.query(
      "SELECT DISTINCT srcid FROM delta WHERE srcid<>0 AND srcid NOT IN (SELECT rid FROM blob)"
      " AND srcid NOT IN (SELECT rid FROM delta)");
  while (query.step()) roots.push_back(query.integer(0));
  return roots;
}

void ArtifactWalk::sort_children(const std::vector<Rid>& roots) {
  std::vector<Rid> order = roots;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::vector<Rid>& children = children_of(order[at]);
    order.insert(order.end(), children.begin(), children.end());
  }
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto found = nodes_.find(*at);
    if (found == nodes_.end()) continue;
    Node& node = found->second;
    std::ranges::stable_sort(node.children, {},
                             [&](Rid child) { return nodes_.at(child).tree_size; });
    if (node.source != 0) nodes_.at(node.source).tree_size += node.tree_size;
  }
}

/// Expands RID. SOURCE is the content of RID's delta source, or null if RID is stored whole.
Result<Content> ArtifactWalk::visit(Rid rid, const Result<Content>& source) {
  if (const auto node = nodes_.find(rid); node != nodes_.end()) node->second.is_visited = true;
  Artifact artifact{.rid = rid};
  Result<Content> content = source;
  bool is_there = false;
  {
    Query query = database_.query("SELECT size, uuid, content FROM blob WHERE rid=?1");
    is_there = query.bind(rid).step();
    if (is_there) {
      artifact.size = query.integer(0);
      artifact.name = query.text(1);
    }
    if (!is_there) {
      content = fail(ErrorCode::kCorrupt, "artifact {}, the source of deltas, is missing", rid);
    } else if (artifact.size < 0) {
      content = fail(ErrorCode::kNotFound, "the content of artifact {} is missing", rid);
    } else if (source) {
      ++expansions_;
      content = expand_stored(rid, query.blob(2), *source, contents_.max_artifact_size());
    }
  }
  if (!is_there) return content;
  if (content) {
    inspectors_->add(std::move(artifact), *content);
  } else {
    visitor_->fail(artifact, content.error());
  }
  visitor_->progress(++done_, total_);
  return content;
}

/// If the total size of the contents on the path exceeds the limit, releases the contents nearest
/// to the root.
void ArtifactWalk::drop_contents(std::vector<Branch>& branches) {
  std::size_t held = 0;
  for (const Branch& branch : branches) {
    if (branch.content && *branch.content) held += (*branch.content)->size();
  }
  for (auto branch = branches.begin(); held > bounds_.contents && branch + 1 < branches.end();
       ++branch) {
    if (!branch->content || !*branch->content) continue;
    held -= (*branch->content)->size();
    *branch->content = nullptr;
  }
}

void ArtifactWalk::walk_from(Rid root) {
  std::vector<Branch> branches;
  const auto descend = [&](Rid rid, Result<Content> content) {
    if (!children_of(rid).empty()) branches.push_back({rid, std::move(content)});
  };
  descend(root, visit(root, Content()));
  while (!branches.empty()) {
    Branch& branch = branches.back();
    const std::vector<Rid>& children = children_of(branch.rid);
    const Rid child = children[branch.next++];
    if (branch.content && !*branch.content) branch.content = contents_.get(branch.rid);
    const Result<Content> source = branch.content;
    if (branch.next == children.size()) branches.pop_back();
    descend(child, visit(child, source));
    if (branches.size() > 1) drop_contents(branches);
  }
}

/// Visits the remaining artifacts, which belong to cycles of deltas.
void ArtifactWalk::visit_cycles() {
  std::vector<Rid> left;
  for (const auto& [rid, node] : nodes_) {
    if (!node.is_visited && node.source != 0) left.push_back(rid);
  }
  std::ranges::sort(left);
  for (const Rid rid : left) {
    visit(rid, fail(ErrorCode::kCorrupt, "the delta chain of artifact {} is a cycle", rid));
  }
}

void ArtifactWalk::run(const Visitor& visitor) {
  visitor_ = &visitor;
  const std::vector<Rid> roots = read_trees();
  sort_children(roots);
  Inspectors inspectors(visitor.inspect, bounds_.helpers.value_or(spare_processors()));
  inspectors_ = &inspectors;
  for (const Rid root : roots) walk_from(root);
  visit_cycles();
  inspectors.finish();
}

}  // namespace quarry::repository
