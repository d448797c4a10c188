// One product. The server made its texts plain and checked its addresses; here they become elements.

import { makeClamped } from "./clamp.js";
import { make, makeButton } from "./dom.js";
import { formatDate, formatNumber, formatPrice } from "./format.js";

const LINK = { rel: "noopener noreferrer nofollow" };

export function makeCard(card, { query, hasImages, onSimilar }) {
  const heading = make("h3", {}, card.link ? make("a", { href: card.link, ...LINK }, card.title) : card.title);
  const head = make("div", { class: "card-head" }, heading);
  if (card.price !== null) head.append(make("span", { class: "price" }, formatPrice(card.price, card.currency)));
  const similar = makeButton("Similar", () => onSimilar(card.id, card.title), { "aria-label": `Products like ${card.title}` });
  const article = make("article", { class: "card", "data-id": card.id });
  if (hasImages) article.append(makePicture(card));
  article.append(head);
  if (card.text) article.append(make("div", {}, ...makeClamped(highlight(card.text, card.matched_terms, query), card.title)));
  if (card.facts.length) article.append(make("ul", { class: "chips", "aria-label": "Details" }, ...card.facts.map(makeFact)));
  article.append(make("div", { class: "card-foot" }, make("code", {}, card.id), make("span", { class: "badge" }, "In the answer"), similar));
  return article;
}

// The box keeps its size, so that nothing jumps when an image arrives or is missing.
function makePicture({ image, link, title }) {
  const letter = [...title][0].toUpperCase();
  const box = link ? make("a", { class: "picture", href: link, ...LINK, tabindex: "-1", "aria-hidden": "true" }) : make("div", { class: "picture", "aria-hidden": "true" });
  box.dataset.letter = letter;
  if (!image) return box;
  const picture = make("img", { alt: "", loading: "lazy", decoding: "async", referrerpolicy: "no-referrer", width: 400, height: 300 });
  picture.addEventListener("load", () => (box.dataset.letter = ""));
  picture.addEventListener("error", () => picture.remove());
  picture.src = image;
  box.append(picture);
  return box;
}

function makeFact({ name, value }) {
  if (typeof value === "boolean") return make("li", {}, `${name}: ${value ? "yes" : "no"}`);
  if (typeof value === "number") return make("li", {}, `${name}: ${formatNumber(value)}`);
  const when = formatDate(value);
  if (when) return make("li", { title: value }, `${name}: ${when}`);
  return make("li", { title: name }, make("span", { class: "hidden-text" }, `${name}: `), value);
}

// The text in pieces; words that begin with a matched term are marked.
function highlight(text, terms, query) {
  const wanted = (terms && terms.length ? terms : query.split(/\s+/)).filter((term) => term.length > 3);
  if (!wanted.length) return [text];
  const escaped = wanted.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])((?:${escaped.join("|")})[\\p{L}\\p{N}]*)`, "giu");
  return text.split(pattern).map((piece, at) => (at % 2 ? make("mark", {}, piece) : piece));
}
