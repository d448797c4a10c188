// How old the data is: an age that grows each second, until the server reports a newer one.

import { byId } from "./dom.js";
import { formatAge, formatAgo, formatTime, parseInstant } from "./format.js";

const POLL = 5000;
const known = {};

// `name` is the place that shows the age: "fresh" in the header, "results" above the products.
export function setAge(name, stamp, readyLag) {
  const lag = stamp.lag_seconds;
  known[name] = { lag, at: performance.now(), readyLag: readyLag ?? known[name]?.readyLag };
  if (name === "fresh") describe(stamp, known.fresh.readyLag);
  render();
}

export function watchFreshness() {
  setInterval(render, 1000);
  document.addEventListener("visibilitychange", () => !document.hidden && poll());
  poll();
}

let timer = null;

async function poll() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const response = await fetch("/readyz", { cache: "no-store" });
    const found = await response.json();
    setAge("fresh", found, found.ready_lag);
  } catch {
    delete known.fresh;
    byId("fresh").dataset.state = "old";
    byId("fresh-text").textContent = "The server is not responding.";
  }
  timer = setTimeout(poll, POLL);
}

function describe(stamp, readyLag) {
  const asOf = parseInstant(stamp.as_of);
  const limit = readyLag === undefined ? "" : ` Limit: ${formatAge(readyLag)}.`;
  byId("fresh").title = `Newest commit in the index: ${asOf ? formatTime(asOf) : "unknown"}.${limit}`;
}

function render() {
  for (const [name, { lag, at, readyLag }] of Object.entries(known)) {
    const age = lag === null ? null : lag + (performance.now() - at) / 1000;
    const text = formatAgo(age);
    const place = byId(`${name}-text`);
    if (place.textContent !== text) place.textContent = text;
    if (name === "fresh") byId("fresh").dataset.state = age === null || age > (readyLag ?? Infinity) ? "old" : "good";
  }
}
