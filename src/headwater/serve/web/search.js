// The first tab: a question, its answer, and below it the matching products.

import { onReturn, readAddress, writeAddress } from "./address.js";
import { beginAnswer, readAnswer } from "./answer.js";
import { ApiProblem, getJson, keepKey, postJson } from "./client.js";
import { byId, make, makeButton, show } from "./dom.js";
import { buildFilters, clearFilters, offerValues, readControls, readFilters, writeControls } from "./filters.js";
import { setAge } from "./freshness.js";
import { countResults, hideResults, listResults, markCited, readOrder, startResults } from "./results.js";

let setup = { fields: {}, examples: [], sort: [], has_images: false };
let current = null;
let order = "";

export async function startSearch() {
  byId("query").value = readAddress().query;
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  byId("key-use").addEventListener("click", useKey);
  byId("key").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    useKey();
  });
  startResults(() => {
    order = readOrder();
    writeAddress({ ...readAddress(), sort: order }, history.state?.title);
  });
  onReturn(restore);
  const isLoaded = await loadSetup();
  if (isLoaded && !current) restore();
}

async function useKey() {
  keepKey(byId("key").value.trim());
  if (!(await loadSetup())) return;
  if (byId("query").value.trim()) ask();
  else restore();
}

async function loadSetup() {
  try {
    setup = await getJson("/page/setup");
  } catch (error) {
    complain(error);
    return false;
  }
  byId("query").maxLength = setup.max_query_characters;
  byId("query").placeholder = setup.examples[0] || "";
  show(byId("key-line"), false);
  show(byId("ask-problem"), false);
  show(byId("tab-pipeline"), setup.operator);
  buildFilters(setup.fields, () => byId("query").value.trim() && byId("welcome").hidden && ask());
  writeControls(readAddress().controls);
  byId("examples").replaceChildren(...setup.examples.map((text) => make("li", {}, makeButton(text, () => askFor(text), { class: "example" }))));
  show(byId("examples-line"), setup.examples.length > 0);
  return true;
}

// Shows what the address names.
function restore() {
  const found = readAddress();
  byId("query").value = found.query;
  writeControls(found.controls);
  order = found.sort;
  if (found.like) showSimilar(found.like, history.state?.title || found.like);
  else if (found.query) ask(true);
  else showWelcome();
}

function askFor(text) {
  byId("query").value = text;
  ask();
}

function showWelcome() {
  current?.abort();
  current = null;
  for (const name of ["answer", "empty", "ask-problem"]) show(byId(name), false);
  hideResults();
  show(byId("welcome"), true);
}

async function ask(isRestored = false) {
  const query = byId("query").value.trim();
  if (!query) return;
  const mine = begin();
  beginAnswer();
  if (!isRestored) writeAddress({ query, sort: order, controls: readControls() });
  const body = { query, filters: readFilters() };
  const answer = readAnswer(body, () => mine === current, mine.signal);
  const found = postJson("/page/search", body, mine.signal);
  const isMatched = answer.isMatched.catch(() => true);
  const listed = showFound(found, isMatched, query, mine);
  // Without an answer there are still products.
  await Promise.all([
    attempt(listed, mine, complain),
    attempt(answer.whole.then((whole) => settle(whole, listed, mine)), mine, complainOfAnswer),
  ]);
  if (mine === current) byId("ask-button").removeAttribute("aria-busy");
}

async function attempt(work, mine, onError) {
  try {
    await work;
  } catch (error) {
    if (mine === current && error.name !== "AbortError") onError(error);
  }
}

function begin() {
  current?.abort();
  current = new AbortController();
  for (const name of ["ask-problem", "welcome", "empty"]) show(byId(name), false);
  byId("announce").textContent = "Searching";
  byId("ask-button").setAttribute("aria-busy", "true");
  return current;
}

async function showFound(found, isMatched, query, mine) {
  const [answer, isAnswered] = await Promise.all([found, isMatched]);
  if (mine !== current) return;
  setAge("fresh", answer);
  offerValues(answer.cards);
  if (isAnswered && answer.cards.length) list(answer, { title: "All results", order, query });
  else showEmpty(answer.cards.length, () => list(answer, { title: "Nearest products", order, query }));
}

// The nearest rows are shown on request: a row is always nearest, also to a question about something else.
function showEmpty(count, onNearest) {
  hideResults();
  const hasFilters = readControls().length > 0;
  const advice = hasFilters ? "Try other words, or fewer filters." : "Try other words, or fewer of them.";
  const choices = [];
  if (hasFilters) choices.push(makeButton("Clear filters", clearFilters));
  if (count) choices.push(makeButton("Show the nearest products", () => openNearest(onNearest)));
  byId("empty-text").textContent = advice;
  byId("empty-choices").replaceChildren(...choices);
  show(byId("empty"), true);
}

function openNearest(onNearest) {
  show(byId("empty"), false);
  onNearest();
  byId("results-title").focus();
}

async function settle(answer, listed, mine) {
  await listed;
  if (mine !== current || !answer) return;
  markCited(answer.citations);
  const count = countResults();
  byId("announce").textContent = answer.success ? `${answer.message} ${count} products.` : `${answer.message} ${byId("empty-text").textContent}`;
}

function openSimilar(id, title) {
  writeAddress({ like: String(id), query: byId("query").value.trim() }, title);
  showSimilar(id, title);
}

async function showSimilar(id, title) {
  // An earlier answer must not overwrite this one, nor this one a later answer.
  const mine = begin();
  await attempt(showOthers(id, title, mine), mine, complain);
  if (mine === current) byId("ask-button").removeAttribute("aria-busy");
}

async function showOthers(id, title, mine) {
  const found = await getJson(`/page/similar/${encodeURIComponent(id)}`, mine.signal);
  if (mine !== current) return;
  show(byId("answer"), false);
  list(found, { title: `Products like ${title}` });
  byId("announce").textContent = `${found.cards.length} products like ${title}`;
  byId("results-title").focus();
}

const list = (found, options) => listResults(found, { order: "", query: "", columns: setup.sort, hasImages: setup.has_images, onSimilar: openSimilar, ...options });

function complain(error) {
  hideResults();
  complainOfAnswer(error);
}

function complainOfAnswer(error) {
  const isApi = error instanceof ApiProblem;
  if (isApi && error.status === 401) {
    show(byId("key-line"), true);
    byId("key").focus();
  }
  show(byId("answer"), false);
  byId("announce").textContent = "";
  show(byId("ask-problem"), true, isApi ? error.message : "The server is not responding.");
}
