// Asking the API: JSON, and answers as events.

const KEY = "headwater-key";

export const readKey = () => sessionStorage.getItem(KEY) || "";
export const keepKey = (key) => (key ? sessionStorage.setItem(KEY, key) : sessionStorage.removeItem(KEY));

export class ApiProblem extends Error {
  constructor(status, body) {
    super(describe(body) || `The server returned status ${status}.`);
    this.status = status;
    this.code = body.code || "";
  }
}

function describe(body) {
  const places = (body.errors || []).map((item) => {
    const allowed = Array.isArray(item.allowed) ? `allowed: ${item.allowed.join(", ")}` : "";
    return [item.where, item.message, allowed].filter(Boolean).join(": ");
  });
  return [body.title, body.detail, ...places].filter(Boolean).join(" ");
}

async function request(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (readKey()) headers["X-API-Key"] = readKey();
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  if (!response.ok) throw new ApiProblem(response.status, await response.json().catch(() => ({})));
  return response;
}

const write = (body) => ({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const getJson = async (path, signal) => (await request(path, { signal })).json();
export const postJson = async (path, body, signal) => (await request(path, { ...write(body), signal })).json();

// Calls `on(name, data)` for each event of the answer.
export async function streamAnswer(body, on, signal) {
  const options = write(body);
  const headers = { ...options.headers, Accept: "text/event-stream" };
  const response = await request("/recommend", { ...options, headers, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (kept + value).split("\n\n");
    kept = blocks.pop();
    blocks.forEach((block) => emit(block, on));
  }
}

function emit(block, on) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length) on(name, JSON.parse(data.join("\n")));
}
