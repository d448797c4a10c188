// Tabs, the freshness in the corner, and the two views.

import { byId } from "./dom.js";
import { watchFreshness } from "./freshness.js";
import { watchPipeline } from "./pipeline.js";
import { startSearch } from "./search.js";

const tabs = [...document.querySelectorAll('[role="tab"]')];

function open(tab) {
  for (const other of tabs) {
    const isChosen = other === tab;
    other.setAttribute("aria-selected", String(isChosen));
    other.tabIndex = isChosen ? 0 : -1;
    byId(other.getAttribute("aria-controls")).hidden = !isChosen;
  }
  watchPipeline(tab.id === "tab-pipeline");
}

function choose(tab) {
  open(tab);
  const hash = tab.id === "tab-pipeline" ? "#pipeline" : "";
  history.replaceState(history.state, "", location.pathname + location.search + hash);
}

const openNamed = () => open(byId(location.hash === "#pipeline" ? "tab-pipeline" : "tab-search"));

function startTabs() {
  const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length };
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      event.preventDefault();
      const next = tabs[Math.min(Math.max(at + moves[event.key], 0), tabs.length - 1)];
      if (next.hidden) return;
      choose(next);
      next.focus();
    });
  });
  window.addEventListener("popstate", openNamed);
  openNamed();
}

startTabs();
watchFreshness();
startSearch();
