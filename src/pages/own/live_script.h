// The scripts of the operator's page: a common part, and one part each for the page of a pool and
// the page of all pools. The second part defines show(). Text is inserted as text, never as markup.
#pragma once

#include <string_view>

namespace quarry::pages {

inline constexpr std::string_view kLiveBeginning = R"js(
"use strict";
const SPAN = 300000, COLUMNS = 32, CELL = 20, WIDE = 600, HIGH = 90;
const STAGES = ["starting", "idle", "accepted", "reading", "reading", "working", "sending", "finished"];
const find = id => document.getElementById(id);
const put = (id, text) => { if (find(id).textContent !== text) find(id).textContent = text; };
const make = (parent, name, values, text) => {
  const space = name === "svg" ? "http://www.w3.org/2000/svg" : parent.namespaceURI;
  const node = document.createElementNS(space, name);
  for (const key in values) node.setAttribute(key, values[key]);
  if (text !== undefined) node.textContent = text;
  return parent.appendChild(node);
};
const short = (number, units, step) => {
  let unit = 0;
  for (; number >= step && unit + 1 < units.length; ++unit) number /= step;
  return number.toFixed(number < 9.95 && number % 1 ? 1 : 0) + units[unit];
};
const count = number => short(number, ["", " k", " M", " G"], 1000);
const bytes = number => short(number, [" B", " kB", " MB", " GB"], 1000);
const time = micros => short(micros, [" µs", " ms", " s"], 1000);
const length = ms => ms < 1000 ? ms + " ms" : ms < 120000 ? (ms / 1000).toFixed(1) + " s" : Math.round(ms / 60000) + " min";

let lost = null;     // time of the first failed request

// SEEN: documents of the last five minutes, oldest first.
const forget = seen => { while (seen.length > 2 && seen[seen.length - 1].now - seen[0].now > SPAN) seen.shift(); };
const remember = (seen, now) => {
  const last = seen[seen.length - 1];
  if (last && (last.started !== now.started || last.served > now.served)) seen.length = 0;
  if (last && last.now === now.now && seen.length) seen.pop();
  seen.push(now);
  forget(seen);
};
const rates = (seen, of) => seen.slice(1).map((now, i) =>
  Math.max(0, of(now) - of(seen[i])) * 1000 / Math.max(1, now.now - seen[i].now));
const end = list => list.length ? list[list.length - 1] : 0;

// The end of an axis for values up to MOST: 1, 2 or 5 times a power of ten.
const rounded = most => {
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].find(factor => most <= factor * power) * power;
};

// Draws LINES over the time of the documents SEEN. TEXT formats a value. The axis ends at LEAST or
// above.
const draw = (chart, seen, lines, text, least) => {
  if (!chart.firstChild) {
    const high = make(chart, "div", {class: "high", "aria-hidden": "true"});
    for (let i = 0; i < 3; ++i) make(high, "span", {});
    make(chart, "svg", {role: "img", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none"});
    const ages = make(chart, "div", {class: "ages", "aria-hidden": "true"});
    for (const age of ["5 min ago", "4 min", "3 min", "2 min", "1 min", "now"]) make(ages, "span", {}, age);
  }
  const [high, plot] = chart.children, most = Math.max(0, ...lines.flat()), top = rounded(Math.max(least, most));
  [top, top / 2, 0].forEach((value, i) => { high.children[i].textContent = text(value); });
  plot.replaceChildren();
  for (let i = 0; i < 5; ++i) make(plot, "line", {x1: WIDE * i / 5, x2: WIDE * i / 5, y1: 0, y2: HIGH});
  for (const y of [0, HIGH / 2]) make(plot, "line", {x1: 0, x2: WIDE, y1: y, y2: y});
  const last = seen[seen.length - 1].now;
  lines.forEach((line, which) => {
    const points = line.map((value, i) =>
      `${(WIDE - (last - seen[i + 1].now) * WIDE / SPAN).toFixed(1)},${(HIGH - 1 - value / top * (HIGH - 2)).toFixed(1)}`);
    make(plot, "polyline", {points: points.join(" "), class: "line" + which});
  });
  plot.setAttribute("aria-label", `the last five minutes: ${lines.map(line => text(end(line))).join(" and ")} now, maximum ${text(most)}`);
};

// TITLE(I, STAGE): the tooltip of child I.
const showChildren = (grid, legend, stages, old, title) => {
  const number = stages.length, cells = grid.cells ??= [];
  while (cells.length > number) cells.pop().remove();
  while (cells.length < number) {
    const i = cells.length;
    const cell = make(grid, "rect", {x: i % COLUMNS * CELL + 1, y: Math.floor(i / COLUMNS) * CELL + 1,
                                     width: CELL - 2, height: CELL - 2, rx: 3});
    make(cell, "title", {});
    cells.push(cell);
  }
  const wide = Math.max(1, Math.min(number, COLUMNS)) * CELL, high = Math.max(1, Math.ceil(number / COLUMNS)) * CELL;
  grid.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  grid.setAttribute("width", wide);
  const counts = {};
  cells.forEach((cell, i) => {
    const stage = STAGES[stages[i]];
    counts[stage] = (counts[stage] || 0) + 1;
    cell.setAttribute("class", `${stage}${old.has(i) ? " old" : ""}`);
    cell.firstChild.textContent = title(i, stage);
  });
  const words = Object.keys(counts).map(stage => `${counts[stage]} ${stage}`).join(", ");
  grid.setAttribute("aria-label", words);
  legend.replaceChildren();
  for (const stage in counts) {
    const entry = make(legend, "span", {});
    make(entry, "b", {class: stage}, "■ ");
    entry.append(`${counts[stage]} ${stage} `);
  }
};

const showTimes = (first, now) => {
  const counts = now.durations.map((value, i) => Math.max(0, value - first.durations[i]));
  const most = Math.max(...counts), body = find("times");
  const from = counts.findIndex(value => value), to = counts.findLastIndex(value => value);
  body.replaceChildren();
  for (let i = from; most && i <= to; ++i) {
    const row = make(body, "tr", {}), bound = now.bounds[i];
    make(row, "th", {scope: "row"}, bound === undefined ? "over " + time(now.bounds[i - 1]) : "up to " + time(bound));
    const bar = make(make(row, "td", {}), "svg", {"aria-hidden": "true"});
    make(bar, "rect", {width: `${(counts[i] / most * 100).toFixed(1)}%`, height: "100%", rx: 3, class: "bar"});
    make(row, "td", {}, count(counts[i]));
  }
  put("times-more", most ? "" : "No syncs in this time.");
};

// Each of ROWS is a list of texts; if ROWS is empty, NONE is shown. A narrow window shows the
// cells of a row below each other, each with the name of its column. The ARIA roles still identify
// the rows as a table.
const showRows = (id, rows, more, none) => {
  const body = find(id), table = body.parentNode, head = table.tHead.rows[0], columns = head.cells;
  table.setAttribute("role", "table");
  table.hidden = !rows.length;
  head.setAttribute("role", "row");
  for (const column of columns) column.setAttribute("role", "columnheader");
  body.replaceChildren();
  for (const texts of rows) {
    const row = make(body, "tr", {role: "row"});
    texts.forEach((text, i) => make(row, "td",
      {role: "cell", class: columns[i].className, "data-name": columns[i].textContent}, text));
  }
  put(id + "-more", more ? `and ${more} more` : rows.length ? "" : none);
};

// If WITH_POOL, also shows the pool of each refusal.
const showRefusals = (refused, withPool) => showRows("refusals", refused.map(each => [length(each.ago) + " ago",
  ...(withPool ? [each.pool] : []), `${each.status} ${each.phrase}` + (each.times > 1 ? `, ${count(each.times)} times` : ""), each.by,
  `${each.method} ${each.uri}`, each.text || "no reason was recorded"]), 0, "None recorded.");
const setsIn = sets => !sets ? "" : sets.problem ? "Change sets: " + sets.problem :
  `Change sets${sets.queues === 1 ? "" : ` in ${sets.queues} queues`}: ` +
  (Object.entries(sets.states).map(([state, number]) => `${number} ${state}`).join(", ") || "none") +
  (sets.cut ? ", and there are more queues" : "") + ".";
)js";

inline constexpr std::string_view kPoolScript = R"js(
const seen = [];

const showTotals = now => {
  const list = find("totals");
  list.replaceChildren();
  for (const [name, value] of Object.entries(now.totals)) {
    make(list, "dt", {}, name);
    make(list, "dd", {}, typeof value === "number" ? value.toLocaleString("en") : value);
  }
};

const showRest = now => {
  showRows("requests", now.requests.map(each => [length(each.ms), each.stage, each.user, each.operation, each.repository,
    `${each.method} ${each.uri}`, each.doing]), now.more, "None at the moment.");
  showRefusals(now.refused, false);
  const run = now.backoffice;
  put("backoffice", run ? `The last run ended ${length(run.ago)} ago and took ${length(run.took)}: ${run.outcome}.` : "No run has ended yet.");
  put("changes", setsIn(now.changes));
};

const show = now => {
  remember(seen, now);
  const requests = rates(seen, each => each.served), into = rates(seen, each => each.in), out = rates(seen, each => each.out);
  document.title = `${now.pool}: ${now.active} of ${now.children} active`;
  put("pool", now.pool);
  put("rate", count(end(requests)));
  put("in", bytes(end(into)));
  put("out", bytes(end(out)));
  put("active", `${now.active} of ${now.children}`);
  put("queue", now.queue === null ? "unknown" : `${now.queue} of ${now.backlog}`);
  put("refused", count(now.refusals - seen[0].refusals));
  put("minutes", seen.length < 2 ? "moment" : length(now.now - seen[0].now));
  put("note", now.note);
  draw(find("served"), seen, [requests], count, 1);
  draw(find("moved"), seen, [into, out], bytes, 1000);
  const old = new Set(now.old);
  showChildren(find("grid"), find("legend"), now.stages, old, (i, stage) =>
    `process ${now.pids[i]}: ${stage} for ${length(now.since[i])}${old.has(i) ? ", of a previous generation" : ""}`);
  showTimes(seen[0], now);
  showRest(now);
  showTotals(now);
};
)js";

inline constexpr std::string_view kAllScript = R"js(
const seen = [];               // documents, for the times
const pools = new Map();       // by name: its documents and its part of the page

const poolOf = name => {
  const known = pools.get(name);
  if (known) return known;
  const part = make(find("pools"), "section", {});
  make(part, "h2", {}, name);
  const note = make(part, "p", {class: "note"}), figures = make(part, "div", {class: "tiles"}), sets = make(part, "p", {});
  const grid = make(part, "svg", {role: "img", class: "grid"}), legend = make(part, "p", {class: "legend"});
  make(part, "p", {}, "Requests per second");
  const served = make(part, "div", {class: "chart"});
  const one = {seen: [], part, figures, sets, note, grid, legend, served};
  pools.set(name, one);
  return one;
};

const showPool = now => {
  const one = poolOf(now.pool);
  remember(one.seen, now);
  const requests = rates(one.seen, each => each.served), of = what => end(rates(one.seen, what));
  one.figures.replaceChildren();
  for (const [figure, words] of [[count(end(requests)), "requests per second"],
    [bytes(of(each => each.in)), "received by syncs per second"], [bytes(of(each => each.out)), "sent by syncs per second"],
    [`${now.active} of ${now.children}`, "active children"],
    [now.queue === null ? "unknown" : `${now.queue} of ${now.backlog}`, "in the listen queue"],
    [count(now.refusals - one.seen[0].refusals), `refused in the last ${length(now.now - one.seen[0].now)}`],
    [now.generation, "generation" + (now.old ? `, with ${now.old} children of previous ones` : "")],
    [now.runs, `backoffice runs, ${now.failures} failed`]]) {
    const tile = make(one.figures, "p", {});
    make(tile, "b", {}, figure);
    tile.append(words);
  }
  one.sets.textContent = setsIn(now.changes);
  one.note.textContent = now.age > 5000 ? `These figures are ${length(now.age)} old.` : now.note;
  showChildren(one.grid, one.legend, now.stages, new Set(), (i, stage) => stage);
  draw(one.served, one.seen, [requests], count, 1);
};

const showCourier = courier => {
  find("courier").hidden = !courier;
  if (!courier) return;
  put("courier-state", courier.problem || (courier.running ? "Running." : "Not running."));
  const age = ms => ms === null ? "" : length(ms) + " ago";
  showRows("destinations", courier.destinations.map(each => [each.name, String(each.waiting), age(each.oldest),
    String(each.delivered), String(each.dead), each.error && `${each.error} (${age(each.failed)})`]), courier.more,
    courier.problem ? "" : "There are no destinations.");
};

const show = now => {
  const first = seen[0];
  if (first && now.durations.some((value, i) => value < first.durations[i])) seen.length = 0;
  now.now = performance.now();
  seen.push(now);
  forget(seen);
  now.pools.forEach(showPool);
  for (const [name, one] of pools) {
    if (now.pools.every(each => each.pool !== name)) { one.part.remove(); pools.delete(name); }
  }
  const sum = of => now.pools.reduce((sum, each) => sum + of(each), 0);
  document.title = `All pools: ${sum(each => each.active)} of ${sum(each => each.children)} active`;
  put("pools-more", now.more ? `and ${now.more} more pools` : now.pools.length ? "" : "The master has not reported any pool yet.");
  showTimes(seen[0], now);
  showRefusals(now.refused, true);
  showCourier(now.courier);
};
)js";

inline constexpr std::string_view kLiveEnd = R"js(
const step = async () => {
  const abort = new AbortController(), timer = setTimeout(() => abort.abort(), 5000);
  try {
    const reply = await fetch(find("lost").dataset.from, {cache: "no-store", signal: abort.signal});
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    const now = await reply.json();
    // The server was upgraded: load its page.
    if (now.version !== find("lost").dataset.version) return location.reload();
    show(now);
    lost = null;
    put("lost", "");
  } catch (error) {
    lost ??= new Date();
    put("lost", `No answer from the server since ${lost.toLocaleTimeString()} (${abort.signal.aborted ? "timeout" : error.message}). The figures below are out of date. Retrying every second.`);
  }
  document.body.classList.toggle("stale", lost !== null);
  clearTimeout(timer);
  setTimeout(step, 1000);
};
step();
)js";

}  // namespace quarry::pages
