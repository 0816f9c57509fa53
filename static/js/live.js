/* Live regions: a region asks for itself with its own ETag, so that an unchanged page costs one 304 and swaps nothing.

   <section id="jobs-live" data-live hx-get="?" hx-trigger="berth:poll" hx-swap="outerHTML"
            hx-headers='{"If-None-Match": "…"}'> … </section>

   It never swaps what a person is using, stops in hidden tabs, and can be paused (WCAG 2.2.2). */
(() => {
  "use strict";

  const PERIOD_MS = 3000;
  const DELAYED_MS = 30000;
  const STALE_MS = 120000;

  let paused = false;
  let lastAnswer = Date.now();

  const regions = () => document.querySelectorAll("[data-live]");

  const inUse = (region) => {
    const focused = document.activeElement;
    const reads = focused && focused !== document.body && !focused.matches("[data-pause]");
    if (reads && region.contains(focused)) return true;
    if (region.querySelector("details.b-menu[open], dialog[open], [data-busy]")) return true;
    const selection = window.getSelection();
    if (!selection || selection.isCollapsed || selection.rangeCount === 0) return false;
    return selection.getRangeAt(0).intersectsNode(region);
  };

  const poll = () => {
    if (paused || document.hidden) return;
    regions().forEach((region) => {
      if (!inUse(region)) window.htmx.trigger(region, "berth:poll");
    });
  };

  /* Freshness by wall time: how old the newest decision is, whether or not the page could be asked. */
  const judge = () => {
    document.querySelectorAll("[data-asof]").forEach((line) => {
      let state = "live";
      const checked = Date.parse(line.dataset.checked);
      const age = Math.max(Number.isNaN(checked) ? 0 : Date.now() - checked, Date.now() - lastAnswer);
      if (paused) state = "paused";
      else if (line.dataset.fixed) state = line.dataset.freshness;
      else if (age > STALE_MS) state = "stale";
      else if (age > DELAYED_MS) state = "delayed";
      const word = line.querySelector("[data-asof-word]");
      const text = line.dataset[`word${state[0].toUpperCase()}${state.slice(1)}`];
      if (line.dataset.freshness !== state) line.dataset.freshness = state;
      if (text && word.textContent !== text) word.textContent = text;
      const button = line.querySelector("[data-pause]");
      const label = paused ? button.dataset.wordResume : button.dataset.wordPause;
      if (button.textContent !== label) button.textContent = label;
    });
  };

  const pause = () => {
    paused = !paused;
    lastAnswer = Date.now();
    judge();
    if (!paused) poll();
  };

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-pause]")) pause();
  });
  document.addEventListener("berth:pause", pause);

  /* The answer to a poll may come after its reader began to use the region. */
  document.addEventListener("htmx:beforeSwap", (event) => {
    const region = event.detail.target;
    if (!region.matches("[data-live]")) return;
    if (event.detail.requestConfig.triggeringEvent?.type === "berth:poll" && (paused || inUse(region))) {
      event.detail.shouldSwap = false;
      return;
    }
    const open = [...region.querySelectorAll("details[open][id]")].map((details) => details.id);
    const checked = [...region.querySelectorAll("tr[aria-selected=true]")].map((row) => row.id);
    region.dataset.reopen = JSON.stringify({ open, checked });
    window.sessionStorage.setItem(`berth:${region.id}`, region.dataset.reopen);
  });

  document.addEventListener("htmx:load", (event) => {
    const region = event.detail.elt;
    if (!region.matches || !region.matches("[data-live]")) return;
    const kept = JSON.parse(window.sessionStorage.getItem(`berth:${region.id}`) || "{}");
    (kept.open || []).forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    (kept.checked || []).forEach((id) => document.getElementById(id)?.setAttribute("aria-selected", "true"));
    window.sessionStorage.removeItem(`berth:${region.id}`);
    judge();
  });

  /* A log that is read at its end goes on being read at its end; one that was scrolled up stays where it is. */
  const atEnd = (box) => box.scrollHeight - box.scrollTop - box.clientHeight < 24;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const box = event.detail.target.closest("[data-log]");
    if (box) box.dataset.follows = box.dataset.follows === undefined || atEnd(box) ? "yes" : "no";
  });
  document.addEventListener("htmx:afterSwap", () => {
    document.querySelectorAll("[data-log][data-follows=yes]").forEach((box) => { box.scrollTop = box.scrollHeight; });
  });

  /* A region may carry the header's as-of line with it: one truth about the age of what is shown. */
  document.addEventListener("htmx:afterRequest", (event) => {
    const status = event.detail.xhr ? event.detail.xhr.status : 0;
    if (event.detail.target?.matches?.("[data-live]") && (status === 304 || (status >= 200 && status < 300))) {
      lastAnswer = Date.now();
      const at = event.detail.xhr.getResponseHeader("Berth-Checked");
      if (at) document.querySelectorAll("[data-asof]").forEach((line) => { line.dataset.checked = at; });
    }
    if (status === 401 || status === 403) paused = true;
    judge();
  });

  document.addEventListener("visibilitychange", () => { if (!document.hidden) { lastAnswer = Date.now(); poll(); } });
  window.setInterval(poll, PERIOD_MS);
  window.setInterval(judge, 1000);
})();
