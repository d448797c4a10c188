// Numbers, prices and times in the language of the visitor.

const languages = navigator.languages;

// A year has no separator: 2024, but 12,000.
const words = new Intl.NumberFormat(languages, { maximumFractionDigits: 2, useGrouping: "min2" });
export const formatNumber = (value) => words.format(value);

export function formatPrice(value, currency) {
  if (currency) return new Intl.NumberFormat(languages, { style: "currency", currency }).format(value);
  const digits = Number.isInteger(value) ? 0 : 2;
  return new Intl.NumberFormat(languages, { minimumFractionDigits: digits, maximumFractionDigits: 2 }).format(value);
}

const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
export const formatClock = (when) => when.toLocaleTimeString(languages, clock);

export function formatTime(when) {
  if (!when || Number.isNaN(when.getTime())) return "never";
  const isToday = when.toDateString() === new Date().toDateString();
  return isToday ? formatClock(when) : `${when.toLocaleDateString(languages)} ${formatClock(when)}`;
}

// 2026-11-21, with or without a time -> the day; anything else -> ""
export function formatDate(text) {
  const found = /^(\d{4}-\d\d-\d\d)(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?$/.exec(text);
  const day = found ? new Date(`${found[1]}T00:00:00Z`) : null;
  return day && !Number.isNaN(day.getTime()) ? day.toLocaleDateString(languages, { dateStyle: "medium", timeZone: "UTC" }) : "";
}

export function formatAge(seconds) {
  if (seconds === null || seconds === undefined) return "age unknown";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

export function formatAgo(seconds) {
  if (seconds === null || seconds === undefined) return "Age unknown";
  if (seconds < 1) return "Updated just now";
  return `Updated ${seconds < 10 ? `${Math.floor(seconds)} s` : formatAge(seconds)} ago`;
}

// 20261121143000123 -> a time; anything else -> null
export function parseInstant(text) {
  const found = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})$/.exec(text || "");
  return found ? new Date(Date.UTC(+found[1], found[2] - 1, +found[3], +found[4], +found[5], +found[6], +found[7])) : null;
}
