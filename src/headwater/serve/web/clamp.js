// Texts of a few lines; a button opens a longer one.

import { make, makeButton } from "./dom.js";

const buttons = new WeakMap();
const watcher = new ResizeObserver((entries) => entries.forEach(({ target }) => judge(target)));
let number = 0;

export function makeClamped(children, title) {
  const id = `text-${(number += 1)}`;
  const text = make("p", { class: "matched clamped", id }, ...children);
  const word = make("span", {}, "Show more");
  const button = makeButton(word, () => toggle(text, button, word), { class: "more", "aria-expanded": "false", "aria-controls": id, hidden: "" });
  button.append(make("span", { class: "hidden-text" }, ` of ${title}`));
  buttons.set(text, button);
  watcher.observe(text);
  return [text, button];
}

function toggle(text, button, word) {
  const isOpen = !text.classList.toggle("clamped");
  button.setAttribute("aria-expanded", String(isOpen));
  word.textContent = isOpen ? "Show less" : "Show more";
}

// A button only where lines are hidden, which depends on the width.
function judge(text) {
  if (text.classList.contains("clamped")) buttons.get(text).hidden = text.scrollHeight <= text.clientHeight + 1;
}
