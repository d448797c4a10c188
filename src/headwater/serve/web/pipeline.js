// The second tab: the state of the pipeline, read every two seconds while it is open.

import { ApiProblem, getJson } from "./client.js";
import { byId, make, makeSvg, show } from "./dom.js";
import { setAge } from "./freshness.js";
import { formatAge, formatClock, formatNumber, formatTime, parseInstant } from "./format.js";

const EVERY = 2000;
let timer = null;

export function watchPipeline(isOpen) {
  clearTimeout(timer);
  if (isOpen) look();
}

async function look() {
  clearTimeout(timer);
  try {
    render(await getJson("/status"));
  } catch (error) {
    const text = error instanceof ApiProblem ? error.message : "The server is not responding; this is its last known state.";
    show(byId("pipeline-problem"), true, text);
  }
  if (!byId("view-pipeline").hidden) timer = setTimeout(look, EVERY);
}

function render(state) {
  const { search, pipeline } = state;
  const troubles = [
    search.ready ? "" : `Not ready: ${search.reason}.`,
    state.index_error ? `The index sync failed (${state.index_error}); answers use the last good index.` : "",
    state.pipeline_error ? `Reading the tables failed (${state.pipeline_error}); this is their last known state.` : "",
  ].filter(Boolean);
  show(byId("pipeline-problem"), troubles.length > 0, troubles.join(" "));
  setAge("fresh", search, search.ready_lag);
  byId("tiles").replaceChildren(...listTiles(search, pipeline || {}).map(makeTile));
  drawPlot(state.freshness, search.ready_lag);
  renderTables(pipeline?.tables || {});
  renderCommits(pipeline?.last_commits || []);
}

function listTiles(search, pipeline) {
  const asOf = parseInstant(search.as_of);
  const quarantine = pipeline.quarantine;
  const total = quarantine ? quarantine.messages + quarantine.objects + quarantine.records : null;
  const tiles = [
    ["Index", search.ready ? "Ready" : "Not ready", search.index_version || "none", search.ready ? "good" : "bad"],
    ["Lag", formatAge(search.lag_seconds), `limit ${formatAge(search.ready_lag)}`, ""],
    ["As of", asOf ? formatTime(asOf) : "unknown", "newest commit in the index", ""],
    ["Chunks searched", formatNumber(search.rows), "", ""],
  ];
  if (pipeline.events) tiles.push(["Events", formatNumber(pipeline.events.rows), `${formatNumber(pipeline.events.commits)} commits`, ""]);
  if (pipeline.queue) {
    const queue = pipeline.queue;
    tiles.push(["Queue", queue.visible === null ? "?" : formatNumber(queue.visible), queue.error ? "unavailable" : queue.visible === null ? "depth not reported" : `${formatNumber(queue.in_flight)} in flight`, queue.error ? "bad" : ""]);
  }
  if (quarantine) tiles.push(["Quarantine", formatNumber(total), `${quarantine.messages} messages, ${quarantine.objects} objects, ${quarantine.records} records`, total ? "warn" : "good"]);
  return tiles;
}

function makeTile([title, value, note, state]) {
  const shown = make("dd", {}, value);
  if (note) shown.append(make("small", {}, note));
  return make("div", { "data-state": state }, make("dt", {}, title), shown);
}

function renderTables(tables) {
  const rows = Object.entries(tables).map(([name, table]) => [
    name,
    formatNumber(table.rows),
    formatNumber(table.commits),
    table.last_commit ? formatTime(new Date(table.last_commit)) : "never",
    formatNumber(table.lag_events),
    formatAge(table.lag_seconds),
  ]);
  fill(byId("tables"), ["Table", "Rows", "Commits", "Last commit", "Events behind", "Behind"], rows, [1, 2, 4, 5], "No table yet.");
}

function renderCommits(commits) {
  const rows = commits.map((commit) => [formatTime(parseInstant(commit.completed)), commit.table, commit.action]);
  fill(byId("commits"), ["Completed", "Table", "Action"], rows, [], "No commit yet.");
}

function fill(table, titles, rows, numeric, empty) {
  const style = (at) => (numeric.includes(at) ? "number" : null);
  const head = make("tr", {}, ...titles.map((title, at) => make("th", { scope: "col", class: style(at) }, title)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, at) => make("td", { class: style(at) }, cell))));
  if (!body.length) body.push(make("tr", {}, make("td", { colspan: titles.length }, empty)));
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
}

const WIDE = 1040;
const HIGH = 220;
const LEFT = 56;
const LOW = 26;

function drawPlot(samples, readyLag) {
  const known = samples.filter((sample) => sample.lag_seconds !== null);
  const summary = byId("plot-summary");
  if (known.length < 2) {
    byId("plot").replaceChildren();
    summary.textContent = "The plot starts after a few seconds.";
    return;
  }
  const values = known.map((sample) => sample.lag_seconds);
  const most = Math.max(...values);
  const top = niceTop(most);
  const times = known.map((sample) => Date.parse(sample.at));
  const span = Math.max(1, times.at(-1) - times[0]);
  const x = (time) => LEFT + ((time - times[0]) / span) * (WIDE - LEFT - 8);
  const y = (lag) => HIGH - LOW - (Math.min(lag, top) / top) * (HIGH - LOW - 10);
  const points = known.map((sample, at) => `${x(times[at]).toFixed(1)},${y(values[at]).toFixed(1)}`);
  const said = `Between ${formatTime(new Date(times[0]))} and ${formatTime(new Date(times.at(-1)))} the index was ${formatAge(Math.min(...values))} to ${formatAge(most)} old; now ${formatAge(values.at(-1))}.`;
  const svg = makeSvg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said });
  for (const part of [0, 0.5, 1]) {
    svg.append(makeSvg("line", { class: "grid", x1: LEFT, x2: WIDE - 8, y1: y(top * part), y2: y(top * part) }));
    svg.append(makeSvg("text", { x: LEFT - 8, y: y(top * part) + 4, "text-anchor": "end" }, `${formatNumber(top * part)} s`));
  }
  if (readyLag <= top) svg.append(makeSvg("line", { class: "limit", x1: LEFT, x2: WIDE - 8, y1: y(readyLag), y2: y(readyLag) }));
  svg.append(makeSvg("polygon", { class: "area", points: `${x(times[0])},${y(0)} ${points.join(" ")} ${x(times.at(-1))},${y(0)}` }));
  svg.append(makeSvg("polyline", { class: "line", points: points.join(" ") }));
  svg.append(makeSvg("text", { x: LEFT, y: HIGH - 6 }, formatClock(new Date(times[0]))));
  svg.append(makeSvg("text", { x: WIDE - 8, y: HIGH - 6, "text-anchor": "end" }, formatClock(new Date(times.at(-1)))));
  byId("plot").replaceChildren(svg);
  summary.textContent = said;
}

function niceTop(most) {
  const step = 10 ** Math.floor(Math.log10(Math.max(most, 0.5)));
  return [1, 2, 5, 10].map((factor) => factor * step).find((value) => value >= most * 1.05) || most;
}
