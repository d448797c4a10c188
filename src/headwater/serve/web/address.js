// The question in the address: query, filters and order, for reload, back, forward and sharing.

const CONTROL = /^(eq|in|gte|lte)\../;
let known = location.search;

export function readAddress() {
  const parts = new URLSearchParams(location.search);
  return {
    query: parts.get("q") || "",
    like: parts.get("like") || "",
    sort: parts.get("sort") || "",
    controls: [...parts].filter(([name]) => CONTROL.test(name)),
  };
}

// `title` is that of the product in `like`, which the address does not have.
export function writeAddress({ query = "", like = "", sort = "", controls = [] }, title = "") {
  const parts = new URLSearchParams(controls);
  for (const [name, value] of Object.entries({ sort, like, q: query })) if (value) parts.set(name, value);
  const text = parts.toString();
  const search = text && `?${text}`;
  if (search === location.search) return;
  history.pushState({ title }, "", location.pathname + search);
  known = location.search;
}

// Back and forward; a step to an anchor of the same question is neither.
export function onReturn(callback) {
  window.addEventListener("popstate", () => {
    if (location.search === known) return;
    known = location.search;
    callback();
  });
}
