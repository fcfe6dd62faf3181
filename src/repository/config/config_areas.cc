// The settings in each area of the configuration. Settings that are not listed here are never
// exchanged.

#include <algorithm>
#include <array>

#include "exported_config.h"
#include "store/hash_policy.h"

namespace quarry::repository {
namespace {

struct Area {
  std::string_view name;
  ConfigAreas areas;
};

// In Fossil's order, because the first match determines the meaning of an abbreviation: `/s` is the
// skin.
constexpr std::array kAreas = {
    Area{"email", kConfigEmail},
    Area{"project", kConfigProject},
    Area{"skin", kConfigSkin | kConfigCss},
    Area{"css", kConfigCss},
    Area{"shun", kConfigShun},
    Area{"ticket", kConfigTicket},
    Area{"user", kConfigUser},
    Area{"xfer", kConfigXfer},
    Area{"alias", kConfigAlias},
    Area{"subscriber", kConfigSubscriber},
    Area{"interwiki", kConfigInterwiki},
    Area{"all", kConfigAll},
};

constexpr std::array<std::string_view, 1> kCss{"css"};
constexpr std::array<std::string_view, 29> kSkin{"header",
                                                 "mainmenu",
                                                 "footer",
                                                 "details",
                                                 "js",
                                                 "default-skin",
                                                 "logo-mimetype",
                                                 "logo-image",
                                                 "background-mimetype",
                                                 "background-image",
                                                 "icon-mimetype",
                                                 "icon-image",
                                                 "timeline-block-markup",
                                                 "timeline-date-format",
                                                 "timeline-default-style",
                                                 "timeline-dwelltime",
                                                 "timeline-closetime",
                                                 "timeline-hard-newlines",
                                                 "timeline-max-comment",
                                                 "timeline-plaintext",
                                                 "timeline-truncate-at-blank",
                                                 "timeline-tslink-info",
                                                 "timeline-utc",
                                                 "adunit",
                                                 "adunit-omit-if-admin",
                                                 "adunit-omit-if-user",
                                                 "default-csp",
                                                 "sitemap-extra",
                                                 "safe-html"};
// Does not include th1-docs, th1-setup, tcl and tcl-setup, because a server executes their values.
// Fossil 2.21 exchanges these settings, but version 2.25 and later do not.
constexpr std::array<std::string_view, 2> kScripts{"th1-hooks", "th1-uri-regexp"};
constexpr std::array<std::string_view, 21> kProject{
    "project-name",     "short-project-name", "project-description", "index-page",
    "manifest",         "binary-glob",        "clean-glob",          "ignore-glob",
    "keep-glob",        "crlf-glob",          "crnl-glob",           "encoding-glob",
    "empty-dirs",       "dotfiles",           "parent-project-code", "parent-project-name",
    kHashPolicySetting, "comment-format",     "mimetypes",           "forbid-delta-manifests",
    "mv-rm-files"};
constexpr std::array<std::string_view, 11> kTicket{
    "ticket-table",        "ticket-common",     "ticket-change",     "ticket-newpage",
    "ticket-viewpage",     "ticket-editpage",   "ticket-reportlist", "ticket-report-template",
    "ticket-key-template", "ticket-title-expr", "ticket-closed-expr"};
constexpr std::array<std::string_view, 1> kUser{"user-color-map"};
constexpr std::array<std::string_view, 4> kXfer{"xfer-common-script", "xfer-push-script",
                                                "xfer-commit-script", "xfer-ticket-script"};

constexpr std::array kSettings = {
    SettingGroup{kConfigCss, kCss},
    SettingGroup{kConfigSkin, kSkin},
    SettingGroup{kConfigSkin | kConfigTicket | kConfigXfer, kScripts},
    SettingGroup{kConfigProject, kProject},
    SettingGroup{kConfigTicket, kTicket},
    SettingGroup{kConfigUser, kUser},
    SettingGroup{kConfigXfer, kXfer},
};

constexpr std::array<std::string_view, 3> kGroup{"email-last-digest", "email-renew-cutoff",
                                                 "email-renew-warning"};

}  // namespace

std::span<const SettingGroup> exported_settings() {
  return kSettings;
}

std::span<const std::string_view> group_settings() {
  return kGroup;
}

ConfigAreas config_areas(std::string_view name) {
  for (const Area& area : kAreas) {
    if (area.name.starts_with(name)) return area.areas;
  }
  return 0;
}

ConfigAreas areas_of_setting(std::string_view name) {
  for (const SettingGroup& group : kSettings) {
    if (std::ranges::find(group.names, name) != group.names.end()) return group.areas;
  }
  if (name.starts_with("walias:/")) return kConfigAlias;
  if (name.starts_with("interwiki:")) return kConfigInterwiki;
  return 0;
}

}  // namespace quarry::repository
