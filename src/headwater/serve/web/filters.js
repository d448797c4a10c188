// One control for each filterable field, and the filters that the controls express.

import { byId, make, show } from "./dom.js";

let fields = {};
const seen = {};

export function buildFilters(kinds, onChange) {
  fields = kinds;
  const box = byId("filter-fields");
  box.replaceChildren(...Object.entries(kinds).map(([name, kind]) => makeField(name, kind)));
  show(byId("filters"), Object.keys(kinds).length > 0);
  // Properties, not listeners: the filters are rebuilt for another key.
  box.onchange = () => {
    countFilters();
    onChange();
  };
  byId("filters-clear").onclick = clearFilters;
}

export function clearFilters() {
  writeControls([]);
  byId("filter-fields").onchange();
}

const listControls = () => [...byId("filter-fields").querySelectorAll("[data-field]")];
const nameControl = ({ dataset }) => `${dataset.operator}.${dataset.field}`;

// The controls that are set, by name, as they are in the address.
export function readControls() {
  return listControls()
    .map((control) => [nameControl(control), control.value.trim()])
    .filter(([, value]) => value);
}

export function writeControls(pairs) {
  const values = Object.fromEntries(pairs);
  for (const control of listControls()) control.value = values[nameControl(control)] || "";
  countFilters();
}

function makeField(name, kind) {
  const title = name.replaceAll("_", " ");
  const field = make("fieldset", {}, make("legend", {}, title));
  if (kind === "number") {
    const least = make("input", { type: "number", step: "any", "data-field": name, "data-operator": "gte", "aria-label": `${title}, at least`, placeholder: "from" });
    const most = make("input", { type: "number", step: "any", "data-field": name, "data-operator": "lte", "aria-label": `${title}, at most`, placeholder: "to" });
    field.append(make("div", { class: "pair" }, least, make("span", { "aria-hidden": "true" }, "–"), most));
  } else if (kind === "bool") {
    const options = [["", "any"], ["true", "yes"], ["false", "no"]].map(([value, text]) => make("option", { value }, text));
    field.append(make("select", { "data-field": name, "data-operator": "eq", "aria-label": title }, ...options));
  } else {
    const list = make("datalist", { id: `values-${name}` });
    field.append(make("input", { type: "text", "data-field": name, "data-operator": "in", "aria-label": `${title}, several with commas between`, placeholder: "any", list: list.id }), list);
  }
  return field;
}

export function readFilters() {
  const found = {};
  for (const control of listControls()) {
    const value = control.value.trim();
    if (!value) continue;
    const { field, operator } = control.dataset;
    if (fields[field] === "number") found[field] = { ...found[field], [operator]: Number(value) };
    else if (fields[field] === "bool") found[field] = value === "true";
    else found[field] = value.split(",").map((part) => part.trim()).filter(Boolean);
  }
  return found;
}

function countFilters() {
  const count = Object.keys(readFilters()).length;
  show(byId("filters-count"), count > 0, String(count));
  if (count) byId("filters").open = true;
}

// Offers the values of the products to choose from.
export function offerValues(products) {
  for (const product of products) {
    for (const [name, value] of Object.entries(product.fields)) {
      if (fields[name] !== "keyword") continue;
      seen[name] = seen[name] || new Set();
      for (const word of [value].flat()) if (seen[name].size < 50) seen[name].add(String(word));
    }
  }
  for (const [name, values] of Object.entries(seen)) {
    const list = document.getElementById(`values-${name}`);
    if (list) list.replaceChildren(...[...values].sort().map((value) => make("option", { value })));
  }
}
