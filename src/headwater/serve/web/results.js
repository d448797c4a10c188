// The list of products: a part of the matches, in the chosen order.

import { makeCard } from "./cards.js";
import { byId, make, show } from "./dom.js";
import { setAge } from "./freshness.js";
import { formatNumber, formatTime, parseInstant } from "./format.js";
import { listOrders, sortCards } from "./sort.js";

const STEP = 12;
let found = { cards: [] };
let cited = new Set();
let elements = new Map();
let shown = STEP;
let orders = [];

export const countResults = () => found.cards.length;

export function startResults(onOrder) {
  byId("sort").addEventListener("change", () => {
    render();
    onOrder();
  });
  byId("more").addEventListener("click", showMore);
}

export const readOrder = () => byId("sort").value;

// `order` is a key of `listOrders`; one that these products do not have means relevance.
export function listResults(answer, { title, order, columns, ...options }) {
  found = answer;
  cited = new Set();
  shown = STEP;
  elements = new Map(answer.cards.map((card) => [card, make("li", {}, makeCard(card, options))]));
  orders = listOrders(answer.cards, columns);
  byId("sort").replaceChildren(...orders.map(({ key, label }) => make("option", { value: key }, label)));
  byId("sort").value = orders.some(({ key }) => key === order) ? order : "";
  byId("results-title").textContent = title;
  show(byId("sort-line"), answer.cards.length > 1 && orders.length > 1);
  show(byId("results"), answer.cards.length > 0);
  showUnderstood(answer.understood);
  showStamp(answer);
  render();
}

export function hideResults() {
  found = { cards: [] };
  show(byId("results"), false);
}

export function markCited(ids) {
  cited = new Set(ids.map(String));
  for (const card of document.querySelectorAll(".card")) card.dataset.cited = String(cited.has(card.dataset.id));
}

function render() {
  const listed = sortCards(found.cards.slice(0, shown), orders.find(({ key }) => key === readOrder()));
  byId("cards").replaceChildren(...listed.map((card) => elements.get(card)));
  markCited([...cited]);
  const total = found.cards.length;
  byId("results-count").textContent = listed.length < total ? `${listed.length} of the ${total} best matches` : `${total} best matches`;
  show(byId("more"), listed.length < total);
  show(byId("sort-note"), listed.length < total && readOrder() !== "", `Sorts the ${listed.length} products listed.`);
}

function showMore() {
  const next = found.cards[shown];
  shown += STEP;
  render();
  // Without this, the focus would be lost where the button disappears.
  const heading = elements.get(next).querySelector("h3");
  const target = heading.querySelector("a") || heading;
  if (target === heading) heading.tabIndex = -1;
  target.focus();
  byId("announce").textContent = byId("results-count").textContent;
}

function showUnderstood(understood = {}) {
  const parts = Object.entries(understood).map(([word, meaning]) => make("li", {}, `${word}: ${meaning}`));
  byId("understood").replaceChildren(...parts);
  show(byId("understood"), parts.length > 0);
}

function showStamp(stamp) {
  setAge("results", stamp);
  const asOf = parseInstant(stamp.as_of);
  const details = [
    ["Newest commit", asOf ? formatTime(asOf) : "unknown"],
    ["Index", stamp.index_version],
    ["Search", `${formatNumber(stamp.took_ms)} ms`],
  ];
  byId("stamp-details").replaceChildren(...details.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}
