// The settings in each area of the configuration. Settings that are not listed here are never
// exchanged.

#include <array>

#include "exported_config.h"
#include "store/hash_policy.h"

namespace quarry::repository {
namespace {

struct Area {
  std::string_view name;
  ConfigAreas areas;
};

// In Fossil's order, which decides about abbreviations: `/s` is the skin.
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

// Without th1-docs, th1-setup, tcl and tcl-setup, which fossil 2.21 exchanges: a server executes
// their values. Fossil does not exchange them either since 2.25.
constexpr ConfigAreas kScripts = kConfigSkin | kConfigTicket | kConfigXfer;

constexpr std::array kSettings = {
    ExportedSetting{"css", kConfigCss},
    ExportedSetting{"header", kConfigSkin},
    ExportedSetting{"mainmenu", kConfigSkin},
    ExportedSetting{"footer", kConfigSkin},
    ExportedSetting{"details", kConfigSkin},
    ExportedSetting{"js", kConfigSkin},
    ExportedSetting{"default-skin", kConfigSkin},
    ExportedSetting{"logo-mimetype", kConfigSkin},
    ExportedSetting{"logo-image", kConfigSkin},
    ExportedSetting{"background-mimetype", kConfigSkin},
    ExportedSetting{"background-image", kConfigSkin},
    ExportedSetting{"icon-mimetype", kConfigSkin},
    ExportedSetting{"icon-image", kConfigSkin},
    ExportedSetting{"timeline-block-markup", kConfigSkin},
    ExportedSetting{"timeline-date-format", kConfigSkin},
    ExportedSetting{"timeline-default-style", kConfigSkin},
    ExportedSetting{"timeline-dwelltime", kConfigSkin},
    ExportedSetting{"timeline-closetime", kConfigSkin},
    ExportedSetting{"timeline-hard-newlines", kConfigSkin},
    ExportedSetting{"timeline-max-comment", kConfigSkin},
    ExportedSetting{"timeline-plaintext", kConfigSkin},
    ExportedSetting{"timeline-truncate-at-blank", kConfigSkin},
    ExportedSetting{"timeline-tslink-info", kConfigSkin},
    ExportedSetting{"timeline-utc", kConfigSkin},
    ExportedSetting{"adunit", kConfigSkin},
    ExportedSetting{"adunit-omit-if-admin", kConfigSkin},
    ExportedSetting{"adunit-omit-if-user", kConfigSkin},
    ExportedSetting{"default-csp", kConfigSkin},
    ExportedSetting{"sitemap-extra", kConfigSkin},
    ExportedSetting{"safe-html", kConfigSkin},
    ExportedSetting{"th1-hooks", kScripts},
    ExportedSetting{"th1-uri-regexp", kScripts},
    ExportedSetting{"project-name", kConfigProject},
    ExportedSetting{"short-project-name", kConfigProject},
    ExportedSetting{"project-description", kConfigProject},
    ExportedSetting{"index-page", kConfigProject},
    ExportedSetting{"manifest", kConfigProject},
    ExportedSetting{"binary-glob", kConfigProject},
    ExportedSetting{"clean-glob", kConfigProject},
    ExportedSetting{"ignore-glob", kConfigProject},
    ExportedSetting{"keep-glob", kConfigProject},
    ExportedSetting{"crlf-glob", kConfigProject},
    ExportedSetting{"crnl-glob", kConfigProject},
    ExportedSetting{"encoding-glob", kConfigProject},
    ExportedSetting{"empty-dirs", kConfigProject},
    ExportedSetting{"dotfiles", kConfigProject},
    ExportedSetting{"parent-project-code", kConfigProject},
    ExportedSetting{"parent-project-name", kConfigProject},
    ExportedSetting{kHashPolicySetting, kConfigProject},
    ExportedSetting{"comment-format", kConfigProject},
    ExportedSetting{"mimetypes", kConfigProject},
    ExportedSetting{"forbid-delta-manifests", kConfigProject},
    ExportedSetting{"mv-rm-files", kConfigProject},
    ExportedSetting{"ticket-table", kConfigTicket},
    ExportedSetting{"ticket-common", kConfigTicket},
    ExportedSetting{"ticket-change", kConfigTicket},
    ExportedSetting{"ticket-newpage", kConfigTicket},
    ExportedSetting{"ticket-viewpage", kConfigTicket},
    ExportedSetting{"ticket-editpage", kConfigTicket},
    ExportedSetting{"ticket-reportlist", kConfigTicket},
    ExportedSetting{"ticket-report-template", kConfigTicket},
    ExportedSetting{"ticket-key-template", kConfigTicket},
    ExportedSetting{"ticket-title-expr", kConfigTicket},
    ExportedSetting{"ticket-closed-expr", kConfigTicket},
    ExportedSetting{"user-color-map", kConfigUser},
    ExportedSetting{"xfer-common-script", kConfigXfer},
    ExportedSetting{"xfer-push-script", kConfigXfer},
    ExportedSetting{"xfer-commit-script", kConfigXfer},
    ExportedSetting{"xfer-ticket-script", kConfigXfer},
};

}  // namespace

std::span<const ExportedSetting> exported_settings() {
  return kSettings;
}

ConfigAreas config_areas(std::string_view name) {
  for (const Area& area : kAreas) {
    if (area.name.starts_with(name)) return area.areas;
  }
  return 0;
}

ConfigAreas areas_of_setting(std::string_view name) {
  for (const ExportedSetting& setting : kSettings) {
    if (setting.name == name) return setting.areas;
  }
  if (name.starts_with("walias:/")) return kConfigAlias;
  if (name.starts_with("interwiki:")) return kConfigInterwiki;
  return 0;
}

}  // namespace quarry::repository
