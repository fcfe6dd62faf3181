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

  std::unexpected<Error> refuse(int status, Error error);
  std::unexpected<Error> refuse(int status, std::string text) {
    return refuse(status, Error{ErrorCode::kDenied, std::move(text)});
  }
  std::unexpected<Error> refuse_anonymous();
  void redirect(int status, const std::string& location);

  Result<void> begin(base::UnixMillis now);
  Result<void> check_first(base::UnixMillis now);
  Result<void> check_readable();
  changes::Actor actor() const { return {user_.login, user_.letters}; }
  void say(std::string_view what) const {
    if (request_.on_progress) request_.on_progress(user_.login, reply_.operation, what);
  }

  std::string_view path_and_query() const;
  std::string project_base() const;
  PageContext context(base::UnixMillis now) const {
    return {.repository = shown_name_,
            .project = project_base(),
            .has_pages = request_.has_pages,
            .user = user_.is_logged_in ? user_.login : std::string(),
            .now = now};
  }

  // Reading:
  Result<void> get(base::UnixMillis now);
  Result<void> show_queue(base::UnixMillis now);
  Result<void> answer_check_in();
  Result<void> show_one(base::UnixMillis now);
  Result<void> show_page(changes::JobView view, base::UnixMillis now);
  Result<void> put_expected(changes::JobView& view, base::UnixMillis now);
  ActionForm form_of(const changes::JobView& view) const;
  Result<void> show_diff(const changes::JobLocation& place, bool is_text, base::UnixMillis now);
  Result<void> answer_why(const changes::ChangeSetId& id, base::UnixMillis now);
  Result<void> answer_rollback(const changes::ChangeSetId& id);
  Result<void> show_text(std::string text);
  Result<void> show(std::string page);

  // Writing:
  Result<void> post(base::UnixMillis now);
  Result<std::string> query_value(std::string_view name) const;
  Result<void> take(base::UnixMillis now);
  Result<std::int64_t> last_receipt();
  Result<void> receive(base::File& file, base::UnixMillis now);
  Result<void> freeze(bool is_frozen, base::UnixMillis now);
  Result<void> act(base::UnixMillis now);
  Result<void> act_by_form(base::UnixMillis now);
  Result<changes::Job> do_action(std::string_view fields, base::UnixMillis now);

  const changes::PoolOptions& options_;
  const base::Clock& clock_;
  repository::Repository& repository_;
  const QueueRequest& request_;
  std::string_view path_;
  sync::SignedRequest login_;
  changes::Directories directories_;
  std::string project_code_;
  std::string shown_name_;
  sync::RequestUser user_;
  QueueReply reply_;
};

}  // namespace quarry::worker
