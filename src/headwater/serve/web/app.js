// Tabs, the freshness in the corner, and the two views.

import { byId, setFreshness } from "./dom.js";
import { watchPipeline } from "./pipeline.js";
import { startSearch } from "./search.js";

const tabs = [...document.querySelectorAll('[role="tab"]')];

function choose(tab, isFocused) {
  for (const other of tabs) {
    const isChosen = other === tab;
    other.setAttribute("aria-selected", String(isChosen));
    other.tabIndex = isChosen ? 0 : -1;
    byId(other.getAttribute("aria-controls")).hidden = !isChosen;
  }
  if (isFocused) tab.focus();
  const isPipeline = tab.id === "tab-pipeline";
  history.replaceState(null, "", isPipeline ? "#pipeline" : location.pathname + location.search);
  watchPipeline(isPipeline);
}

function startTabs() {
  const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length };
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => choose(tab, false));
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      event.preventDefault();
      const next = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : (at + moves[event.key] + tabs.length) % tabs.length;
      choose(tabs[next], true);
    });
  });
  if (location.hash === "#pipeline") choose(byId("tab-pipeline"), false);
}

async function lookAtFreshness() {
  try {
    const response = await fetch("/readyz", { cache: "no-store" });
    const found = await response.json();
    setFreshness(found, found.ready_lag);
  } catch {
    byId("fresh").dataset.state = "old";
    byId("fresh-text").textContent = "The server is not responding.";
  }
  setTimeout(lookAtFreshness, 5000);
}

startTabs();
lookAtFreshness();
startSearch();
