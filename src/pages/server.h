// The event loop of the pages process. The loop accepts passed connections, sends requests to
// `fossil`, and sends pages to clients.
//
// Requests from one address do not delay the requests of others: the number of processes per
// address is limited, and waiting addresses take turns (fair_queue.h). Clients that do not read
// their pages do not exhaust the memory: readers of a cached page share its bytes, and the unread
// bytes are limited.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "cache/page_cache.h"
#include "cache/repository_state.h"
#include "connection/page_connection.h"
#include "fair_queue.h"
#include "fossil/fossil_pool.h"
#include "fossil/fossil_run.h"
#include "login/login_attempt.h"
#include "publication.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/log_throttle.h"
#include "quarry/pages/options.h"
#include "quarry/pages/pages.h"
#include "request/page_request.h"
#include "request/target.h"

namespace quarry::pages {

class Server final : private PageConnection::Owner, private FossilRun::Owner {
 public:
  /// Creates a server. All arguments must outlive this object.
  Server(event_base* base, const Options& options, const ServedRepositories& served,
         const Handles& handles, const Figures::Writable& figures, Logins& logins,
         FossilStarter& starter);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override;

  /// Accepts the connections that were already passed on, then no more. The loop ends after all
  /// requests are finished.
  void stop();
  /// Called when a fossil has exited. STATUS is the same as for waitpid(2).
  void on_ended(pid_t pid, int status);

 private:
  /// The reply to a POST, which is sent after other hosts have confirmed the change.
  struct HeldReply {
    int status;
    std::string head;
    base::EventBufferPtr body = base::EventBufferPtr(evbuffer_new());
  };
  struct ConnectionState {
    std::unique_ptr<PageConnection> connection;
    FossilRun* run = nullptr;      // makes the page
    std::uint32_t repository = 0;  // its number
    std::string file = {};         // the repository's file
    bool has_head = false;
    bool logs_query = false;  // the query cannot contain a password
    std::string name = {};    // of the repository
    std::unique_ptr<HeldReply> held = nullptr;
    std::unique_ptr<Publication> publication = nullptr;  // for which HELD waits
  };
  /// A page that is being generated. Requests that arrive before the page is complete get the same
  /// page.
  struct Shared {
    std::string key;
    bool is_kept;  // whether the page is stored in the cache
    std::list<PageConnection*> connections = {};
    std::set<std::string> networks = {};  // networks with a queue entry for this page
    bool is_begun = false;
    http::ReplyHeader header = {};
    base::EventBufferPtr body = base::EventBufferPtr(evbuffer_new());
  };
  struct Running {
    std::unique_ptr<FossilRun> run;
    PageConnection* connection = nullptr;      // null if the client has disconnected
    std::shared_ptr<Shared> shared = nullptr;  // the shared page that RUN makes, or null
    std::string network;                       // of the client whose turn it was
    std::string request;                       // for the log
    std::string request_id;
    std::unique_ptr<LoginAttempt> login;  // null if fossil does not check a password
    bool is_post = false;
    std::optional<std::string> state_before = {};  // state_of() the file, if is_post
    std::uint32_t repository = 0;                  // its number
  };
  /// An entry in the queue of requests that wait for a fossil process. The entry waits until it is
  /// NETWORK's turn. The entry is for a single request, or for all requests that wait for the page
  /// SHARED. A shared page can have entries for several networks.
  struct Waiting {
    std::string network = {};
    PageConnection* connection = nullptr;
    std::shared_ptr<Shared> shared = nullptr;
    /// Set if the page is for this request only. When a process is free, the cache is searched
    /// again for the page.
    std::optional<Target> target = {};
  };

  void take_connections();
  void on_target(PageConnection& connection, const Target& target);
  /// Returns the current cache key, or nullopt if the page must not be cached.
  std::optional<std::string> key_now(const PageRequest& request, const Target& target) const;
  void ask(Waiting waiting);
  /// Starts the request of CONNECTION again, without sharing its page.
  void ask(PageConnection& connection);
  /// Returns whether NETWORK may use another fossil process.
  bool may_begin(const std::string& network) const;
  /// Refuses WAITING because too many requests wait. Does not refuse a shared page that another
  /// network also waits for.
  void turn_away(Waiting waiting);
  /// Answers all requests in refused_.
  void refuse_delayed();
  void begin(Waiting waiting);
  /// Called when the page of RUN cannot be shared. The first request gets the page; the other
  /// requests start again.
  void unshare(FossilRun& run);
  void answer(PageConnection& connection, const std::shared_ptr<const CachedPage>& page);
  /// Sends the part of CONNECTION's held reply that has arrived, and no longer holds the reply.
  void release(PageConnection& connection);
  void on_published(PageConnection& connection, const Result<void>& published);
  /// While there are too many unread bytes in total, closes the connection with the most unread
  /// bytes. The caller's connection may be destroyed in this call.
  void limit_unread();
  /// Called when a shared page is complete.
  void finish_shared(Shared& shared);
  /// Answers all requests in WAITING with REFUSAL.
  void refuse(Waiting waiting, const Refusal& refusal);
  void remove_waiting(PageConnection& connection);
  void log_access(PageConnection& connection);
  void answer(PageConnection& connection, const Refusal& refusal, bool is_json = false);
  /// Records REFUSAL for the status page.
  void record_refusal(const PageRequest& request, const Refusal& refusal);
  void start_waiting();
  void show_state();
  void stop_if_idle();

  void on_request(PageConnection& connection, bool is_too_large) override;
  void on_drained(PageConnection& connection) override;
  void on_gone(PageConnection& connection) override;
  void on_head(FossilRun& run, http::ReplyHeader& header) override;
  void on_body(FossilRun& run, evbuffer* body) override;
  void on_complete(FossilRun& run) override;
  void on_fault(FossilRun& run, FossilRun::Fault fault, const std::string& reason) override;
  void on_finished(FossilRun& run) override;

  event_base* base_;
  const Options& options_;
  const ServedRepositories& served_;
  const Handles& handles_;
  const Figures::Writable& figures_;
  Logins& logins_;
  FossilEnvironment fossil_environment_;
  FossilPool pool_;
  std::size_t held_ = 0;  // number of buffered bytes of requests
  bool is_stopping_ = false;
  std::unordered_map<const PageConnection*, ConnectionState> connections_;
  std::unordered_map<const FossilRun*, Running> runs_;
  FairQueue<Waiting> waiting_;
  std::list<Waiting> refused_;  // answered by refusal_
  PageCache cache_;
  std::unordered_map<std::string, std::shared_ptr<Shared>> shared_;  // by key
  std::list<Running> finished_;  // destroyed when none of their callbacks is running
  base::Event incoming_;
  base::Event cleanup_;
  base::Event trim_;
  base::Event refusal_;
  base::LogThrottle overload_log_;
  base::LogThrottle unread_log_;
  base::LogThrottle errors_log_;
};

}  // namespace quarry::pages
