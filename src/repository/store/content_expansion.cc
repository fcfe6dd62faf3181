#include "content_expansion.h"

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"

namespace quarry::repository {
namespace {

// A chain that is longer than this is a cycle. (Chains that Fossil makes have far less than a
// thousand deltas.)
constexpr std::size_t kMaxChain = 200000;
// Every 16th content in a chain is also cached. Therefore, reading the versions of a file from old
// to new needs at most 16 deltas per version.
constexpr std::size_t kCacheEvery = 16;

}  // namespace

Rid ContentExpansion::delta_source(Rid rid) {
  return database_.first_integer("SELECT srcid FROM delta WHERE rid=?1", rid);
}

int ContentExpansion::chain_length(Rid rid, int limit) {
  int length = 0;
  for (Rid at = delta_source(rid); at != 0 && length < limit; at = delta_source(at)) ++length;
  return length;
}

bool ContentExpansion::chain_contains(Rid rid, Rid link) {
  std::size_t length = 0;
  for (Rid at = rid; at != 0 && length < kMaxChain; at = delta_source(at), ++length) {
    if (at == link) return true;
  }
  return false;
}

Result<Content> expand_stored(Rid rid, std::string_view stored, const Content& source,
                              std::size_t max_size) {
  auto bytes = artifact::blob_expand(stored, max_size);
  if (!bytes) {
    if (bytes.error().code != ErrorCode::kInvalid) return std::unexpected(bytes.error());
    return fail(ErrorCode::kCorrupt, "the stored bytes of artifact {}: {}", rid,
                bytes.error().message);
  }
  if (!source) return std::make_shared<const std::string>(std::move(*bytes));
  auto target = artifact::delta_apply(*source, *bytes, max_size);
  if (!target) {
    const auto code =
        target.error().code == ErrorCode::kLimit ? ErrorCode::kLimit : ErrorCode::kCorrupt;
    return fail(code, "the delta of artifact {}: {}", rid, target.error().message);
  }
  return std::make_shared<const std::string>(std::move(*target));
}

Result<Content> ContentExpansion::make(Rid rid, const Content& source) {
  Query query = database_.query("SELECT size, content FROM blob WHERE rid=?1", rid);
  if (!query.step() || query.integer(0) < 0) {
    return fail(ErrorCode::kNotFound, "the content of artifact {} is missing", rid);
  }
  ++expansions_;
  auto content = expand_stored(rid, query.blob(1), source, max_artifact_size_);
  if (content) database_.count_work((*content)->size());
  return content;
}

Result<Content> ContentExpansion::get(Rid rid) {
  std::vector<Rid> deltas;
  Rid at = rid;
  Content content = find_cached(at);
  while (!content) {
    const Rid source = delta_source(at);
    if (source == 0) {
      QUARRY_TRY_ASSIGN(content, make(at, nullptr));
      break;
    }
    deltas.push_back(at);
    if (deltas.size() > kMaxChain) {
      return fail(ErrorCode::kCorrupt, "the delta chain of artifact {} is a cycle", rid);
    }
    at = source;
    content = find_cached(at);
  }
  for (std::size_t left = deltas.size(); left > 0; --left) {
    if (left % kCacheEvery == 0 && left < deltas.size()) remember(deltas[left], content);
    QUARRY_TRY_ASSIGN(content, make(deltas[left - 1], content));
  }
  remember(rid, content);
  return content;
}

Content ContentExpansion::find_cached(Rid rid) {
  const auto found = index_.find(rid);
  if (found == index_.end()) return nullptr;
  cached_.splice(cached_.begin(), cached_, found->second);
  return found->second->content;
}

void ContentExpansion::store_whole(Rid rid) {
  const auto content = get(rid);
  if (!content) return;
  database_.execute("UPDATE blob SET content=?1 WHERE rid=?2",
                    Blob{artifact::blob_compress(**content)}, rid);
  database_.execute("DELETE FROM delta WHERE rid=?1", rid);
}

void ContentExpansion::remember(Rid rid, Content content) {
  // Do not cache an artifact that needs more than half of the cache, because it would displace most
  // of the others.
  if (content->size() > cache_limit_ / 2) return;
  forget(rid);
  cached_size_ += content->size();
  cached_.push_front(Cached{rid, std::move(content)});
  index_[rid] = cached_.begin();
  set_cache_size(cache_limit_);
}

void ContentExpansion::forget(Rid rid) {
  const auto found = index_.find(rid);
  if (found == index_.end()) return;
  cached_size_ -= found->second->content->size();
  cached_.erase(found->second);
  index_.erase(found);
}

void ContentExpansion::forget_all() {
  cached_.clear();
  index_.clear();
  cached_size_ = 0;
}

void ContentExpansion::set_cache_size(std::size_t size) {
  cache_limit_ = size;
  while (cached_size_ > cache_limit_ && !cached_.empty()) forget(cached_.back().rid);
}

}  // namespace quarry::repository
