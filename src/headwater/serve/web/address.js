// The question in the address: query, filters and order, for reload, back, forward and sharing.

const CONTROL = /^(eq|in|gte|lte)\../;

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
  const search = parts.size ? `?${parts}` : "";
  if (search !== location.search) history.pushState({ title }, "", location.pathname + search);
}
