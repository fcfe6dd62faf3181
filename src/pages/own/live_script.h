// The script of the operator's page. All text goes into the page as text, never as markup.
#pragma once

#include <string_view>

namespace quarry::pages {

inline constexpr std::string_view kLiveScript = R"js(
"use strict";
const KEPT = 300, COLUMNS = 32, CELL = 16, WIDE = 600, HIGH = 90;
const STAGES = ["starting", "idle", "accepted", "reading", "reading", "working", "sending", "finished"];
const find = id => document.getElementById(id);
const put = (id, text) => { if (find(id).textContent !== text) find(id).textContent = text; };
const make = (parent, name, values, text) => {
  const node = parent.namespaceURI.endsWith("svg")
    ? document.createElementNS(parent.namespaceURI, name) : document.createElement(name);
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

let seen = [];       // documents of the last minutes, the oldest first
let cells = [];      // of the grid
let lost = null;     // since when there is no answer

const rates = of => seen.slice(1).map((now, i) =>
  Math.max(0, of(now) - of(seen[i])) * 1000 / Math.max(1, now.now - seen[i].now));

const draw = (id, lines, words) => {
  const chart = find(id), top = Math.max(0, ...lines.flat()), most = Math.max(1, top);
  chart.replaceChildren();
  lines.forEach((line, which) => {
    const points = line.map((value, i) =>
      `${(WIDE - (line.length - 1 - i) * WIDE / (KEPT - 2)).toFixed(1)},${(HIGH - 2 - value / most * (HIGH - 8)).toFixed(1)}`);
    make(chart, "polyline", {points: points.join(" "), class: "line" + which});
  });
  chart.setAttribute("aria-label", "at most " + words(top));
  put(id + "-most", "at most " + words(top));
};

const showChildren = now => {
  const grid = find("grid"), number = now.stages.length;
  while (cells.length > number) cells.pop().remove();
  while (cells.length < number) {
    const i = cells.length;
    const cell = make(grid, "rect", {x: i % COLUMNS * CELL + 1, y: Math.floor(i / COLUMNS) * CELL + 1,
                                     width: CELL - 2, height: CELL - 2, rx: 2});
    make(cell, "title", {});
    cells.push(cell);
  }
  grid.setAttribute("viewBox", `0 0 ${COLUMNS * CELL} ${Math.max(1, Math.ceil(number / COLUMNS)) * CELL}`);
  const old = new Set(now.old), counts = {};
  cells.forEach((cell, i) => {
    const stage = STAGES[now.stages[i]];
    counts[stage] = (counts[stage] || 0) + 1;
    cell.setAttribute("class", `${stage}${old.has(i) ? " old" : ""}`);
    cell.firstChild.textContent = `process ${now.pids[i]}: ${stage} for ${length(now.since[i])}${old.has(i) ? ", of an earlier generation" : ""}`;
  });
  const words = Object.keys(counts).map(stage => `${counts[stage]} ${stage}`).join(", ");
  grid.setAttribute("aria-label", words);
  const legend = find("legend");
  legend.replaceChildren();
  for (const stage in counts) {
    const entry = make(legend, "span", {});
    make(entry, "b", {class: stage}, "■ ");
    entry.append(`${counts[stage]} ${stage} `);
  }
};

const showTimes = now => {
  const chart = find("times"), first = seen[0].durations;
  const counts = now.durations.map((value, i) => Math.max(0, value - first[i]));
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

const showRequests = now => {
  const body = find("requests");
  body.replaceChildren();
  for (const each of now.requests) {
    const row = make(body, "tr", {});
    for (const text of [length(each.ms), each.stage, each.user, each.operation, each.repository, `${each.method} ${each.uri}`, each.doing]) {
      make(row, "td", {}, text);
    }
  }
  put("more", now.more ? `and ${now.more} more` : now.requests.length ? "" : "None at this moment.");
};

const showTotals = now => {
  const list = find("totals");
  list.replaceChildren();
  for (const [name, value] of Object.entries(now.totals)) {
    make(list, "dt", {}, name);
    make(list, "dd", {}, typeof value === "number" ? value.toLocaleString("en") : value);
  }
};

const show = now => {
  const last = seen[seen.length - 1];
  if (last && (last.started !== now.started || last.served > now.served)) seen = [];
  seen.push(now);
  if (seen.length > KEPT) seen.shift();
  const requests = rates(each => each.served), into = rates(each => each.in), out = rates(each => each.out);
  const end = list => list.length ? list[list.length - 1] : 0;
  document.title = `${now.pool}: ${now.active} of ${now.children} at work`;
  put("pool", now.pool);
  put("rate", count(end(requests)));
  put("in", bytes(end(into)));
  put("out", bytes(end(out)));
  put("active", `${now.active} of ${now.children}`);
  put("queue", now.queue === null ? "unknown" : `${now.queue} of ${now.backlog}`);
  put("refused", count(now.refusals - seen[0].refusals));
  put("minutes", seen.length < 2 ? "just begun" : `the last ${length(now.now - seen[0].now)}`);
  put("note", now.note);
  draw("served", [requests], most => `${count(most)} a second`);
  draw("moved", [into, out], most => `${bytes(most)} a second`);
  showChildren(now);
  showTimes(now);
  showRequests(now);
  showTotals(now);
};

const step = async () => {
  const abort = new AbortController(), timer = setTimeout(() => abort.abort(), 5000);
  try {
    const reply = await fetch("?live&json", {cache: "no-store", signal: abort.signal});
    if (!reply.ok) throw new Error(`it answers ${reply.status}`);
    const now = await reply.json();
    // Another program answers by now: its page, too.
    if (now.version !== find("pool").dataset.version) return location.reload();
    show(now);
    lost = null;
    put("lost", "");
  } catch (error) {
    lost ??= new Date();
    put("lost", `No answer from the server since ${lost.toLocaleTimeString()} (${abort.signal.aborted ? "it takes too long" : error.message}). What is below is older. Asking again every second.`);
  }
  document.body.classList.toggle("stale", lost !== null);
  clearTimeout(timer);
  setTimeout(step, 1000);
};
step();
)js";

}  // namespace quarry::pages
