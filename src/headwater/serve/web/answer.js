// The answer, as it arrives.

import { ApiProblem, streamAnswer } from "./client.js";
import { byId, make, show } from "./dom.js";

const REASONS = {
  no_language_model: "no language model is configured",
  language_model_failed: "the language model did not answer",
  interrupted: "the language model was interrupted",
  ungrounded: "the language model made no claim that the rows support",
};

export function beginAnswer() {
  show(byId("answer"), true);
  show(byId("answer-mode"), false);
  byId("answer-note").textContent = "";
  byId("answer-text").replaceChildren(make("p", { class: "waiting" }, "Searching…"));
}

// Returns two promises: whether rows match, which is known first, and the complete answer. A failure rejects both.
export function readAnswer(body, isCurrent, signal) {
  let setMatches;
  let answer = null;
  const isMatched = new Promise((resolve) => (setMatches = resolve));
  const take = (name, data) => {
    if (!isCurrent()) return;
    if (name === "products") setMatches(data.products.length > 0);
    else if (name === "token") addText(data.text);
    else if (name === "done") finish((answer = data));
    else if (name === "error") throw new ApiProblem(data.status, data);
  };
  const whole = streamAnswer(body, take, signal).then(() => answer);
  return { isMatched: Promise.race([isMatched, whole.then(() => true)]), whole };
}

function addText(text) {
  const box = byId("answer-text");
  box.querySelector(".waiting")?.remove();
  for (const line of text.split("\n").filter(Boolean)) box.append(make("p", {}, line));
}

function finish(answer) {
  if (!answer.success) byId("answer-text").replaceChildren(make("p", {}, answer.message));
  const badge = byId("answer-mode");
  badge.dataset.kind = answer.degraded ? "degraded" : answer.mode;
  show(badge, answer.success, answer.mode === "llm" ? "Written by a model, checked against the rows" : "In the products’ own words");
  const removed = Object.values(answer.removed).reduce((sum, count) => sum + count, 0);
  const notes = [];
  if (answer.degraded) notes.push(`Short form: ${REASONS[answer.degraded_reason] || answer.degraded_reason}.`);
  if (removed) notes.push(`${removed} claim${removed > 1 ? "s" : ""} removed: not supported by the rows.`);
  byId("answer-note").textContent = notes.join(" ");
}
