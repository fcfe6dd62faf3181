// The answer to one request to a queue (queue_endpoint.h). queue_reading.cc answers requests that
// read the queue; queue_writing.cc answers submissions and actions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/blanks.h"
#include "quarry/base/escape.h"
#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/queue_view.h"
#include "quarry/changes/rights.h"
#include "quarry/http/syntax.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/signed_request.h"
#include "quarry/worker/queue_endpoint.h"
#include "queue_page.h"

namespace quarry::worker {

inline constexpr std::string_view kQueue = "queue";
inline constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

/// Returns CONTENT_TYPE without its parameters.
inline std::string_view media_type_of(std::string_view content_type) {
  return base::trim_blanks(content_type.substr(0, content_type.find(';')));
}

inline std::string json_string(std::string_view text) {
  std::string json;
  base::append_json_string(json, text);
  return json;
}

class QueueAnswer {
 public:
  QueueAnswer(const changes::PoolOptions& options, base::FileSystem& files,
              const base::Clock& clock, repository::Repository& repository,
              const QueueRequest& request)
      : options_(options),
        clock_(clock),
        repository_(repository),
        request_(request),
        path_(request.path),
        login_(repository, request.logins),
        directories_(files, changes::queue_base(options, repository.path(), request.name)) {}

  QueueReply run();

 private:
  bool is_post() const { return request_.method == "POST"; }
  bool is_form() const {
    return is_post() && http::same_name(media_type_of(request_.content_type), kFormType);
  }
  bool wants_json() const;

  std::unexpected<base::Error> refuse(int status, base::Error error);
  std::unexpected<base::Error> refuse(int status, std::string text) {
    return refuse(status, base::Error{base::ErrorCode::kDenied, std::move(text)});
  }
  std::unexpected<base::Error> refuse_anonymous();
  void redirect(int status, const std::string& location);

  base::Result<void> begin(base::UnixMillis now);
  base::Result<void> check_first(base::UnixMillis now);
  base::Result<void> check_readable();
  changes::Actor actor() const { return {user_.login, user_.letters}; }
  void say(std::string_view what) const {
    if (request_.on_progress) request_.on_progress(user_.login, reply_.operation, what);
  }

  std::string called() const {
    return request_.name.empty() ? "this repository" : std::string(request_.name);
  }
  std::string_view path_and_query() const;
  std::string project_base() const;
  PageContext context() const {
    return {.repository = called(),
            .project = project_base(),
            .has_pages = request_.has_pages,
            .user = user_.is_logged_in ? user_.login : std::string()};
  }

  // Reading:
  base::Result<void> get(base::UnixMillis now);
  base::Result<void> show_queue(base::UnixMillis now);
  base::Result<void> answer_check_in();
  base::Result<void> show_one(base::UnixMillis now);
  base::Result<void> show_page(changes::JobView view, base::UnixMillis now);
  ActionForm form_of(const changes::JobView& view) const;
  base::Result<void> show_diff(const changes::JobLocation& place);
  base::Result<void> answer_why(const changes::ChangeSetId& id, base::UnixMillis now);
  base::Result<void> answer_rollback(const changes::ChangeSetId& id);
  base::Result<void> show(std::string page);

  // Writing:
  base::Result<void> post(base::UnixMillis now);
  base::Result<std::string> query_value(std::string_view name) const;
  base::Result<void> take(base::UnixMillis now);
  base::Result<std::int64_t> last_receipt();
  base::Result<void> receive(base::File& file, base::UnixMillis now);
  base::Result<void> freeze(bool is_frozen, base::UnixMillis now);
  base::Result<void> act(base::UnixMillis now);
  base::Result<void> act_by_form(base::UnixMillis now);
  base::Result<changes::Job> do_action(std::string_view fields, base::UnixMillis now);

  const changes::PoolOptions& options_;
  const base::Clock& clock_;
  repository::Repository& repository_;
  const QueueRequest& request_;
  std::string_view path_;
  sync::SignedRequest login_;
  changes::Directories directories_;
  std::string project_code_;
  sync::RequestUser user_;
  QueueReply reply_;
};

}  // namespace quarry::worker
