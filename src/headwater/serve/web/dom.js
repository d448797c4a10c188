// Elements made of text alone: nothing that a seller wrote is ever parsed as markup.

export const byId = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(key, String(value));
  }
  element.append(...children.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return element;
}

export function makeSvg(name, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text) element.textContent = text;
  return element;
}

export function show(element, isShown, text) {
  element.hidden = !isShown;
  if (text !== undefined) element.textContent = text;
}

const words = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
export const formatNumber = (value) => words.format(value);

const money = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
export const formatPrice = (value) => (Number.isInteger(value) ? words : money).format(value);

const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
export const formatClock = (when) => when.toLocaleTimeString(undefined, clock);

export function formatAge(seconds) {
  if (seconds === null || seconds === undefined) return "age unknown";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

// 20261121143000123 -> a time; anything else -> null
export function parseInstant(text) {
  const found = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})$/.exec(text || "");
  return found ? new Date(Date.UTC(+found[1], found[2] - 1, +found[3], +found[4], +found[5], +found[6], +found[7])) : null;
}

export function formatTime(when) {
  if (!when || Number.isNaN(when.getTime())) return "never";
  const isToday = when.toDateString() === new Date().toDateString();
  return isToday ? formatClock(when) : `${when.toLocaleDateString()} ${formatClock(when)}`;
}

export function setFreshness(stamp, readyLag) {
  const box = byId("fresh");
  const lag = stamp.lag_seconds;
  const isOld = lag === null || (readyLag !== undefined && lag > readyLag);
  box.dataset.state = isOld ? "old" : "good";
  const asOf = parseInstant(stamp.as_of);
  byId("fresh-text").textContent = `As of ${asOf ? formatTime(asOf) : "an unknown commit"} · ${lag === null ? "age unknown" : `lag ${formatAge(lag)}`}`;
}
