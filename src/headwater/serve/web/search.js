// The first tab: a question, its answer as it arrives, and the products that it is based on.

import { ApiProblem, getJson, keepKey, streamAnswer } from "./client.js";
import { byId, formatAge, formatNumber, formatPrice, formatTime, make, parseInstant, setFreshness, show } from "./dom.js";
import { buildFilters, offerValues, readFilters } from "./filters.js";

const REASONS = {
  no_language_model: "no language model is configured",
  language_model_failed: "the language model did not answer",
  interrupted: "the language model was interrupted",
  ungrounded: "the language model made no claim that the rows support",
};
let current = null;

export async function startSearch() {
  // Read before anything can be asked: a question puts itself into the address.
  const asked = new URLSearchParams(location.search).get("q");
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  byId("key-use").addEventListener("click", async () => {
    keepKey(byId("key").value.trim());
    await loadSetup();
    if (byId("query").value.trim()) ask();
  });
  byId("key").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    byId("key-use").click();
  });
  await loadSetup();
  if (asked && !current) {
    byId("query").value = asked;
    ask();
  }
}

async function loadSetup() {
  try {
    const setup = await getJson("/page/setup");
    byId("query").maxLength = setup.max_query_characters;
    show(byId("key-line"), false);
    show(byId("ask-problem"), false);
    buildFilters(setup.fields, () => byId("query").value.trim() && !byId("results").hidden && ask());
  } catch (error) {
    complain(error);
  }
}

async function ask() {
  const query = byId("query").value.trim();
  if (!query) return;
  current?.abort();
  const mine = (current = new AbortController());
  begin(query);
  try {
    await streamAnswer({ query, filters: readFilters() }, (name, data) => mine === current && take(name, data, query), mine.signal);
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
  } finally {
    if (mine === current) byId("ask-button").removeAttribute("aria-busy");
  }
}

function begin(query) {
  const address = new URL(location.href);
  address.searchParams.set("q", query);
  history.replaceState(null, "", address);
  show(byId("ask-problem"), false);
  show(byId("welcome"), false);
  show(byId("answer"), true);
  show(byId("answer-mode"), false);
  byId("answer-title").textContent = "Answer";
  byId("answer-note").textContent = "";
  byId("announce").textContent = "Searching";
  byId("answer-text").replaceChildren(make("p", { class: "waiting" }, "Searching…"));
  byId("ask-button").setAttribute("aria-busy", "true");
}

function take(name, data, query) {
  if (name === "products") showProducts(data, query);
  else if (name === "token") addText(data.text);
  else if (name === "done") finish(data);
  else if (name === "error") complain(new ApiProblem(data.status, data));
}

function addText(text) {
  const box = byId("answer-text");
  box.querySelector(".waiting")?.remove();
  for (const line of text.split("\n").filter(Boolean)) box.append(make("p", {}, line));
}

function finish(answer) {
  if (!answer.success) byId("answer-text").replaceChildren(make("p", {}, answer.message), make("p", {}, "Try other words, or fewer filters."));
  const badge = byId("answer-mode");
  badge.dataset.kind = answer.degraded ? "degraded" : answer.mode;
  show(badge, answer.success, answer.mode === "llm" ? "Written by a model, checked against the rows" : "In the products’ own words");
  const removed = Object.values(answer.removed).reduce((sum, count) => sum + count, 0);
  const notes = [];
  if (answer.degraded) notes.push(`Short form: ${REASONS[answer.degraded_reason] || answer.degraded_reason}.`);
  if (removed) notes.push(`${removed} claim${removed > 1 ? "s" : ""} removed: not supported by the rows.`);
  byId("answer-note").textContent = notes.join(" ");
  for (const card of document.querySelectorAll(".card")) card.dataset.cited = String(answer.citations.map(String).includes(card.dataset.id));
  byId("announce").textContent = answer.success ? `${answer.message} ${answer.products.length} products.` : answer.message;
  stamp(answer);
}

function stamp(answer) {
  setFreshness(answer);
  const asOf = parseInstant(answer.as_of);
  byId("results-stamp").textContent = `as of ${asOf ? formatTime(asOf) : "?"} · lag ${formatAge(answer.lag_seconds)} · ${formatNumber(answer.took_ms)} ms · index ${answer.index_version}`;
  const understood = Object.entries(answer.understood || {});
  byId("understood").replaceChildren(...understood.map(([word, meaning]) => make("li", {}, `${word}: ${meaning}`)));
  show(byId("understood"), understood.length > 0);
}

function showProducts(found, query) {
  offerValues(found.products);
  show(byId("results"), found.products.length > 0);
  byId("results-title").textContent = "Products";
  byId("cards").replaceChildren(...found.products.map((product) => make("li", {}, makeCard(product, query))));
  stamp(found);
}

function makeCard(product, query) {
  const { id, fields } = product;
  const title = product.title || fields.title || fields.name || String(id);
  const priceName = Object.keys(fields).find((name) => /price|cost/i.test(name) && typeof fields[name] === "number");
  const head = make("div", { class: "card-head" }, make("h3", {}, title));
  if (priceName) head.append(make("span", { class: "price", title: priceName }, formatPrice(fields[priceName])));
  const chips = Object.entries(fields)
    .filter(([name, value]) => name !== priceName && value !== title && value !== id && String(value).length <= 40 && !name.startsWith("_"))
    .slice(0, 6)
    .map(([name, value]) => make("li", { title: name.replaceAll("_", " ") }, typeof value === "boolean" ? `${name.replaceAll("_", " ")}: ${value ? "yes" : "no"}` : [value].flat().join(", ")));
  const similar = make("button", { class: "quiet", type: "button", "aria-label": `Products like ${title}` }, "Similar");
  similar.addEventListener("click", () => showSimilar(id, title));
  const whole = product.matched_content.join("\n");
  // The first chunk begins with the title, which stands above it already.
  const text = whole.startsWith(title) ? whole.slice(title.length).replace(/^[\s.:]+/, "") : whole;
  return make(
    "article",
    { class: "card", "data-id": id },
    head,
    make("p", { class: "matched" }, ...highlight(text, product.matched_terms, query)),
    make("ul", { class: "chips", "aria-label": "Fields" }, ...chips),
    make("div", { class: "card-foot" }, make("code", {}, id), similar),
  );
}

// The text in pieces; words that begin with a matched term are marked.
function highlight(text, terms, query) {
  const wanted = (terms && terms.length ? terms : query.split(/\s+/)).filter((term) => term.length > 3);
  if (!wanted.length) return [text];
  const escaped = wanted.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])((?:${escaped.join("|")})[\\p{L}\\p{N}]*)`, "giu");
  return text.split(pattern).map((piece, at) => (at % 2 ? make("mark", {}, piece) : piece));
}

async function showSimilar(id, title) {
  // An earlier answer must not overwrite this one, nor this one a later answer.
  current?.abort();
  const mine = (current = new AbortController());
  byId("ask-button").removeAttribute("aria-busy");
  try {
    const found = await getJson(`/products/${encodeURIComponent(id)}/similar?limit=6`);
    if (mine !== current) return;
    show(byId("answer"), false);
    byId("cards").replaceChildren(...found.hits.map((hit) => make("li", {}, makeCard({ ...hit, matched_content: [hit.text] }, ""))));
    byId("results-title").textContent = `Products like ${title}`;
    byId("announce").textContent = `${found.hits.length} products like ${title}`;
    stamp(found);
    byId("results-title").focus();
  } catch (error) {
    if (mine === current) complain(error);
  }
}

function complain(error) {
  const isApi = error instanceof ApiProblem;
  if (isApi && error.status === 401) {
    show(byId("key-line"), true);
    byId("key").focus();
  }
  show(byId("answer"), false);
  byId("announce").textContent = "";
  show(byId("ask-problem"), true, isApi ? error.message : "The server is not responding.");
}
