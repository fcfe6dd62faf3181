#include <string>

#include "live_script.h"
#include "quarry/http/web_page.h"
#include "quarry/pages/live_page.h"
#include "template.h"

namespace quarry::pages {
namespace {

constexpr Template kPool(R"(<h1>Pool <span id="pool">…</span></h1>
<p id="lost" role="alert" data-version="{{version}}" data-from="?live&amp;json"></p>
<p id="note" role="status"></p>
{{#has_all}}<p><a href="?live&amp;all">All pools</a></p>
{{/has_all}}<noscript><p>This page needs JavaScript to update itself. Without it, see the <a href="?html&amp;full">current figures</a>.</p></noscript>
<div class="tiles">
<p><b id="rate">–</b> requests per second</p>
<p><b id="in">–</b> received by syncs per second</p>
<p><b id="out">–</b> sent by syncs per second</p>
<p><b id="active">–</b> children at work</p>
<p><b id="queue">–</b> in the listen queue</p>
<p><b id="refused">–</b> refused in the last <span id="minutes">–</span></p>
</div>
<h2>Children</h2>
<svg id="grid" class="grid" role="img" viewBox="0 0 512 16"></svg>
<p id="legend"></p>
<h2>Requests per second</h2>
<svg id="served" role="img" viewBox="0 0 600 90" preserveAspectRatio="none"></svg>
<p id="served-most" class="dim"></p>
<h2>Bytes received and <span class="second">sent</span> by syncs per second</h2>
<svg id="moved" role="img" viewBox="0 0 600 90" preserveAspectRatio="none"></svg>
<p id="moved-most" class="dim"></p>
<h2>Duration of syncs in the last five minutes</h2>
<div class="wide" tabindex="0" role="region" aria-label="Duration of syncs"><svg id="times" role="img" viewBox="0 0 600 90"></svg></div>
<h2>Requests in progress</h2>
<div class="wide" tabindex="0" role="region" aria-label="Requests in progress"><table>
<thead><tr><th>Duration</th><th>Stage</th><th>User</th><th>Operation</th><th>Repository</th><th class="long">Request</th><th class="long">Activity</th></tr></thead>
<tbody id="requests"></tbody></table></div>
<p id="requests-more" class="dim"></p>
<h2>Refused or failed</h2>
<div class="wide" tabindex="0" role="region" aria-label="Refused or failed"><table>
<thead><tr><th>When</th><th>Status</th><th>By</th><th class="long">Request</th><th class="long">Message</th></tr></thead>
<tbody id="refusals"></tbody></table></div>
<p id="refusals-more" class="dim"></p>
<h2>Backoffice</h2>
<p id="backoffice"></p>
<p id="changes"></p>
<h2>Totals since the start</h2>
<dl id="totals"></dl>
)");

constexpr Template kAll(R"(<h1>All pools</h1>
<p id="lost" role="alert" data-version="{{version}}" data-from="?live&amp;all&amp;json"></p>
<p><a href="?live">This pool only, with its requests</a></p>
<noscript><p>This page needs JavaScript to update itself. Without it, see the <a href="?html&amp;full">current figures</a> of one pool.</p></noscript>
<div id="pools"></div>
<p id="pools-more" class="dim"></p>
<h2>Duration of syncs in the last five minutes</h2>
<div class="wide" tabindex="0" role="region" aria-label="Duration of syncs"><svg id="times" role="img" viewBox="0 0 600 90"></svg></div>
<h2>Refused or failed</h2>
<div class="wide" tabindex="0" role="region" aria-label="Refused or failed"><table>
<thead><tr><th>When</th><th>Pool</th><th>Status</th><th>By</th><th class="long">Request</th><th class="long">Message</th></tr></thead>
<tbody id="refusals"></tbody></table></div>
<p id="refusals-more" class="dim"></p>
<section id="courier" hidden><h2>Courier</h2>
<p id="courier-state"></p>
<div class="wide" tabindex="0" role="region" aria-label="Destinations"><table>
<thead><tr><th>Destination</th><th>Waiting</th><th>Oldest</th><th>Delivered</th><th>Dead</th><th class="long">Last error</th></tr></thead>
<tbody id="destinations"></tbody></table></div>
<p id="destinations-more" class="dim"></p></section>
)");

const std::string& script_of(bool is_of_all) {
  static const std::string kScripts[] = {
      std::string(kLiveBeginning).append(kPoolScript).append(kLiveEnd),
      std::string(kLiveBeginning).append(kAllScript).append(kLiveEnd),
  };
  return kScripts[is_of_all ? 1 : 0];
}

}  // namespace

std::string live_page(bool is_of_all, bool has_all) {
  Values page;
  page.set("version", QUARRY_VERSION);
  page.set("has_all", Values(has_all));
  return http::web_page("Quarry", (is_of_all ? kAll : kPool).fill(page), script_of(is_of_all));
}

std::string live_page_headers(bool is_of_all) {
  return http::web_page_headers(script_of(is_of_all));
}

}  // namespace quarry::pages
