#include <string>
#include <vector>

#include "live_script.h"
#include "quarry/http/web_page.h"
#include "quarry/pages/live_page.h"
#include "template.h"

namespace quarry::pages {
namespace {

constexpr Template kPool(R"(<h1>Pool <span id="pool">…</span></h1>
<p id="lost" role="alert" class="note" data-version="{{version}}" data-from="?live&amp;json"></p>
<p id="note" role="status" class="note"></p>
<noscript><p>This page needs JavaScript to update itself. Without it, see the <a href="?html&amp;full">current figures</a>.</p></noscript>
<div class="tiles">
<p><b id="rate">–</b> requests per second</p>
<p><b id="in">–</b> received by syncs per second</p>
<p><b id="out">–</b> sent by syncs per second</p>
<p><b id="active">–</b> active children</p>
<p><b id="queue">–</b> in the listen queue</p>
<p><b id="refused">–</b> refused in the last <span id="minutes">–</span></p>
</div>
<h2>Children</h2>
<svg id="grid" class="grid" role="img"></svg>
<p id="legend" class="legend"></p>
<h2>Requests per second</h2>
<div id="served" class="chart"></div>
<h2>Bytes per second of syncs: <span class="key0">received</span> and <span class="key1">sent (dashed)</span></h2>
<div id="moved" class="chart"></div>
<h2>Duration of syncs in the last five minutes</h2>
<table class="bars"><tbody id="times"></tbody></table>
<p id="times-more" class="dim"></p>
<h2>Requests in progress</h2>
<table class="table">
<thead><tr><th>Duration</th><th>Stage</th><th>User</th><th>Operation</th><th class="long">Repository</th><th class="long">Request</th><th class="long">Activity</th></tr></thead>
<tbody id="requests"></tbody></table>
<p id="requests-more" class="dim"></p>
<h2>Refused or failed</h2>
<table class="table">
<thead><tr><th>When</th><th>Status</th><th>By</th><th class="long">Request</th><th class="long">Why</th></tr></thead>
<tbody id="refusals"></tbody></table>
<p id="refusals-more" class="dim"></p>
<p class="dim">Requests for things that do not exist (404) are counted, but not listed.</p>
<h2>Backoffice</h2>
<p id="backoffice"></p>
<p id="changes"></p>
<h2>Totals since the start</h2>
<p class="dim">Without the requests of this page.</p>
<dl id="totals"></dl>
)");

constexpr Template kAll(R"(<h1>All pools</h1>
<p id="lost" role="alert" class="note" data-version="{{version}}" data-from="?live&amp;all&amp;json"></p>
<noscript><p>This page needs JavaScript to update itself. Without it, see the <a href="?html&amp;full">current figures</a> of one pool.</p></noscript>
<div id="pools"></div>
<p id="pools-more" class="dim"></p>
<h2>Duration of syncs in the last five minutes</h2>
<table class="bars"><tbody id="times"></tbody></table>
<p id="times-more" class="dim"></p>
<h2>Refused or failed</h2>
<table class="table">
<thead><tr><th>When</th><th>Pool</th><th>Status</th><th>By</th><th class="long">Request</th><th class="long">Why</th></tr></thead>
<tbody id="refusals"></tbody></table>
<p id="refusals-more" class="dim"></p>
<p class="dim">Requests for things that do not exist (404) are counted, but not listed.</p>
<section id="courier" hidden><h2>Courier</h2>
<p id="courier-state"></p>
<table class="table">
<thead><tr><th>Destination</th><th>Waiting</th><th>Oldest</th><th>Delivered</th><th>Dead</th><th class="long">Last error</th></tr></thead>
<tbody id="destinations"></tbody></table>
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
  std::vector<http::PageLink> links;
  if (is_of_all) links.push_back({"?live", "One pool, with its requests", /*is_aside=*/true});
  if (!is_of_all && has_all) links.push_back({"?live&all", "All pools"});
  return http::web_page("Quarry", (is_of_all ? kAll : kPool).fill(page), links,
                        script_of(is_of_all));
}

std::string live_page_headers(bool is_of_all) {
  return http::web_page_headers(script_of(is_of_all));
}

}  // namespace quarry::pages
