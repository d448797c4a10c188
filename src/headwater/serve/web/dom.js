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

export function makeButton(text, onClick, attributes = {}) {
  const button = make("button", { class: "quiet", type: "button", ...attributes }, text);
  button.addEventListener("click", onClick);
  return button;
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
