// The scripts of the operator's page: a common part, and one part each for the page of a pool and
// the page of all pools. The second part defines show(). Text is inserted as text, never as markup.
#pragma once

#include <string_view>

namespace quarry::pages {

inline constexpr std::string_view kLiveBeginning = R"js(
"use strict";
const KEPT = 300, COLUMNS = 32, CELL = 16, WIDE = 600, HIGH = 90;
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

// SEEN: documents of the last minutes, oldest first.
const remember = (seen, now) => {
  const last = seen[seen.length - 1];
  if (last && (last.started !== now.started || last.served > now.served)) seen.length = 0;
  if (last && last.now === now.now && seen.length) seen.pop();
  seen.push(now);
  if (seen.length > KEPT) seen.shift();
};
const rates = (seen, of) => seen.slice(1).map((now, i) =>
  Math.max(0, of(now) - of(seen[i])) * 1000 / Math.max(1, now.now - seen[i].now));
const end = list => list.length ? list[list.length - 1] : 0;

const draw = (chart, words, lines, text) => {
  const top = Math.max(0, ...lines.flat()), most = Math.max(1, top);
  chart.replaceChildren();
  lines.forEach((line, which) => {
    const points = line.map((value, i) =>
      `${(WIDE - (line.length - 1 - i) * WIDE / (KEPT - 2)).toFixed(1)},${(HIGH - 2 - value / most * (HIGH - 8)).toFixed(1)}`);
    make(chart, "polyline", {points: points.join(" "), class: "line" + which});
  });
  chart.setAttribute("aria-label", "maximum " + text(top));
  words.textContent = "maximum " + text(top);
};

// TITLE(I, STAGE): the tooltip of child I.
const showChildren = (grid, legend, stages, old, title) => {
  const number = stages.length, cells = grid.cells ??= [];
  while (cells.length > number) cells.pop().remove();
  while (cells.length < number) {
    const i = cells.length;
    const cell = make(grid, "rect", {x: i % COLUMNS * CELL + 1, y: Math.floor(i / COLUMNS) * CELL + 1,
                                     width: CELL - 2, height: CELL - 2, rx: 2});
    make(cell, "title", {});
    cells.push(cell);
  }
  grid.setAttribute("viewBox", `0 0 ${COLUMNS * CELL} ${Math.max(1, Math.ceil(number / COLUMNS)) * CELL}`);
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
  const chart = find("times"), counts = now.durations.map((value, i) => Math.max(0, value - first.durations[i]));
  const most = Math.max(1, ...counts), wide = WIDE / counts.length;
  chart.replaceChildren();
  counts.forEach((value, i) => {
    const high = value / most * (HIGH - 30), bound = now.bounds[i];
    const name = bound === undefined ? "over " + time(now.bounds[i - 1]) : "to " + time(bound);
    const bar = make(chart, "rect", {x: (i * wide + 1).toFixed(1), y: (HIGH - 14 - high).toFixed(1), class: "bar",
                                     width: (wide - 2).toFixed(1), height: high.toFixed(1)});
    make(bar, "title", {}, `${name}: ${value}`);
    const middle = (i * wide + wide / 2).toFixed(1);
    if (value) make(chart, "text", {x: middle, y: (HIGH - 17 - high).toFixed(1)}, count(value));
    make(chart, "text", {x: middle, y: HIGH - 3}, bound === undefined ? "over" : time(bound));
  });
  chart.setAttribute("aria-label", counts.map((value, i) => [value, i]).filter(([value]) => value).map(([value, i]) =>
    `${value} ${now.bounds[i] === undefined ? "longer" : "within " + time(now.bounds[i])}`).join(", ") || "none");
};

// Each of ROWS is a list of texts; NONE is shown if there are no rows.
const showRows = (id, rows, more, none) => {
  const body = find(id), columns = body.parentNode.tHead.rows[0].cells;
  body.replaceChildren();
  for (const texts of rows) {
    const row = make(body, "tr", {});
    texts.forEach((text, i) => make(row, "td", {class: columns[i].className}, text));
  }
  put(id + "-more", more ? `and ${more} more` : rows.length ? "" : none);
};

// WITH_POOL: show the pool of each.
const showRefusals = (refused, withPool) => showRows("refusals", refused.map(each => [length(each.ago) + " ago",
  ...(withPool ? [each.pool] : []), each.times > 1 ? `${each.status}, ${count(each.times)} times` : String(each.status), each.by,
  `${each.method} ${each.uri}`, each.text]), 0, "None recorded.");
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
  document.title = `${now.pool}: ${now.active} of ${now.children} at work`;
  put("pool", now.pool);
  put("rate", count(end(requests)));
  put("in", bytes(end(into)));
  put("out", bytes(end(out)));
  put("active", `${now.active} of ${now.children}`);
  put("queue", now.queue === null ? "unknown" : `${now.queue} of ${now.backlog}`);
  put("refused", count(now.refusals - seen[0].refusals));
  put("minutes", seen.length < 2 ? "moment" : length(now.now - seen[0].now));
  put("note", now.note);
  draw(find("served"), find("served-most"), [requests], most => `${count(most)} per second`);
  draw(find("moved"), find("moved-most"), [into, out], most => `${bytes(most)} per second`);
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
  const figures = make(part, "p", {}), sets = make(part, "p", {}), note = make(part, "p", {class: "note"});
  const grid = make(part, "svg", {role: "img", class: "grid", viewBox: "0 0 512 16"}), legend = make(part, "p", {});
  const served = make(part, "svg", {role: "img", viewBox: "0 0 600 90", preserveAspectRatio: "none"});
  const most = make(part, "p", {class: "dim"});
  const one = {seen: [], part, figures, sets, note, grid, legend, served, most};
  pools.set(name, one);
  return one;
};

const showPool = now => {
  const one = poolOf(now.pool);
  remember(one.seen, now);
  const requests = rates(one.seen, each => each.served), of = what => end(rates(one.seen, what));
  one.figures.textContent = `${count(end(requests))} requests per second; ${bytes(of(each => each.in))} received and ` +
    `${bytes(of(each => each.out))} sent per second; ${now.active} of ${now.children} children at work; ` +
    (now.queue === null ? "" : `${now.queue} of ${now.backlog} in the listen queue; `) +
    `${count(now.refusals - one.seen[0].refusals)} refused in the last ${length(now.now - one.seen[0].now)}; ` +
    `generation ${now.generation}` + (now.old ? `, with ${now.old} children of previous ones` : "") +
    `; ${now.runs} backoffice runs, ${now.failures} failed.`;
  one.sets.textContent = setsIn(now.changes);
  one.note.textContent = now.age > 5000 ? `These figures are ${length(now.age)} old.` : now.note;
  showChildren(one.grid, one.legend, now.stages, new Set(), (i, stage) => stage);
  draw(one.served, one.most, [requests], most => `${count(most)} requests per second`);
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
  seen.push(now);
  if (seen.length > KEPT) seen.shift();
  now.pools.forEach(showPool);
  for (const [name, one] of pools) {
    if (now.pools.every(each => each.pool !== name)) { one.part.remove(); pools.delete(name); }
  }
  const sum = of => now.pools.reduce((sum, each) => sum + of(each), 0);
  document.title = `All pools: ${sum(each => each.active)} of ${sum(each => each.children)} at work`;
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
