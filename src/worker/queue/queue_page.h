// HTML pages of a queue and of one change set, in the common frame of our pages
// (quarry/http/web_page.h). Replies with these pages need the frame's headers. The pages do not
// contain scripts. The page of a change set has a form with buttons for the actions that the user is
// allowed to do (queue_endpoint.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/changes/actions.h"
#include "quarry/changes/queue_view.h"

namespace quarry::worker {

struct PageContext {
  std::string repository;  // its name
  std::string project;     // URL of the project, relative to the page; empty, or ends with a slash
  bool has_pages = false;  // whether fossil's web pages are below this URL
  std::string user;        // login; empty if the user is not logged in
  base::UnixMillis now;

  std::string queue() const { return project + "queue"; }
};

struct ActionForm {
  std::vector<changes::Action> actions;
  std::string token;  // for the field `csrf`
};

/// Return the HTML pages. QUERY is the query of the request. If FORM does not contain actions, it
/// is not shown.
std::string queue_page(const changes::QueueView& view, const PageContext& context,
                       std::string_view query);
std::string change_set_page(const changes::JobView& view, const PageContext& context,
                            const ActionForm& form);

/// Returns the page with the diff of NAME. Without DIFF, the page says that the diff is being
/// computed.
std::string diff_page(const changes::ChangeSetName& name, const std::optional<std::string>& diff,
                      const PageContext& context);

}  // namespace quarry::worker
