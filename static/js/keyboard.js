/* Single-key shortcuts (PAGES section 3): silent in fields and while an input method composes, and they can be switched off. */
(() => {
  "use strict";

  const OFF = "berth:keys-off";
  const SECOND_KEY_MS = 1200;
  const PLACES = { o: "overview", j: "jobs", q: "quota", s: "statements" };

  let waitingForPlace = 0;

  const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
  const link = (name) => document.querySelector(`[data-key-${name}]`);

  const rows = () => [...document.querySelectorAll("tr[data-row]")];
  const move = (step) => {
    const all = rows();
    if (all.length === 0) return;
    const at = all.findIndex((row) => row.classList.contains("b-selected"));
    const next = Math.min(Math.max(at + step, 0), all.length - 1);
    all.forEach((row, index) => row.classList.toggle("b-selected", index === next));
    all[next].scrollIntoView({ block: "nearest" });
    all[next].querySelector("a")?.focus({ preventScroll: true });
  };

  const goTo = (key) => {
    const entry = PLACES[key] && document.querySelector(`.b-rail a[data-place="${PLACES[key]}"]`);
    if (entry) entry.click();
  };

  const actions = {
    "/": () => document.querySelector("[data-key-search]")?.focus(),
    "?": () => document.getElementById("keyboard-help").showModal(),
    n: () => link("submit")?.click(),
    j: () => move(1),
    k: () => move(-1),
    f: () => document.querySelector("[data-key-filter]")?.focus(),
    "[": () => document.querySelector('a[rel="prev"]')?.click(),
    "]": () => document.querySelector('a[rel="next"]')?.click(),
    ".": () => { const menu = document.querySelector("[data-key-actions]"); if (menu) { menu.open = true; menu.querySelector("a, button").focus(); } },
    l: () => { const log = link("log"); if (log) { log.scrollIntoView({ block: "start" }); log.focus({ preventScroll: true }); } },
    p: () => document.dispatchEvent(new Event("berth:pause")),
  };

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (window.localStorage.getItem(OFF) === "yes") return;
    if (Date.now() - waitingForPlace < SECOND_KEY_MS) {
      waitingForPlace = 0;
      goTo(event.key);
      return;
    }
    if (event.key === "g") { waitingForPlace = Date.now(); return; }
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });

  const off = document.querySelector("[data-keys-off]");
  if (off) {
    off.checked = window.localStorage.getItem(OFF) === "yes";
    off.addEventListener("change", () => window.localStorage.setItem(OFF, off.checked ? "yes" : "no"));
  }
})();
