/* The frame: menus that close, theme without a round trip, toasts, confirmations, copying. Everything works without it but slower. */
(() => {
  "use strict";

  const TOAST_MS = 10000;

  /* One open menu at a time; Escape gives the focus back. */
  document.addEventListener("click", (event) => {
    document.querySelectorAll("details.b-menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details.b-menu[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  /* The theme is the server's to remember; the page follows at once. */
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-theme-form]") || !event.submitter) return;
    event.preventDefault();
    const theme = event.submitter.value;
    if (theme === "auto") document.documentElement.removeAttribute("data-bs-theme");
    else document.documentElement.setAttribute("data-bs-theme", theme);
    form.querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(button === event.submitter)));
    const body = new FormData(form);
    body.set("theme", theme);
    window.fetch(form.action, { method: "POST", body, credentials: "same-origin", headers: { "X-Requested-With": "fetch" } });
  });

  /* Toasts leave by themselves, and wait while they are read. */
  const dismissLater = (toast) => {
    let left = TOAST_MS;
    let at = Date.now();
    let timer = window.setTimeout(() => toast.remove(), left);
    const hold = () => { window.clearTimeout(timer); left -= Date.now() - at; };
    const go = () => { at = Date.now(); timer = window.setTimeout(() => toast.remove(), Math.max(left, 1000)); };
    toast.addEventListener("mouseenter", hold);
    toast.addEventListener("mouseleave", go);
    toast.addEventListener("focusin", hold);
    toast.addEventListener("focusout", go);
  };
  document.querySelectorAll("[data-toast]").forEach(dismissLater);
  document.addEventListener("click", (event) => {
    event.target.closest("[data-dismiss]")?.closest("[data-toast]")?.remove();
    const opener = event.target.closest("[data-opens]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.opens);
      dialog.showModal();
      (dialog.querySelector("[data-safe]") || dialog).focus();
    }
    event.target.closest("[data-closes]")?.closest("dialog")?.close();
    if (event.target.closest("[data-print]")) window.print();
    const copy = event.target.closest("[data-copy]");
    const copied = copy && document.getElementById(copy.dataset.copy);
    if (copied) {
      navigator.clipboard.writeText(copied.textContent.trim());
      copy.textContent = copy.dataset.wordDone;
    }
  });

  /* A filter menu's form sends itself; without script it has its own button. */
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-send-on-change]")) event.target.form.requestSubmit();
  });

  /* Rows that open in place load once, then only fold. */
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-drill]");
    if (!opener) return;
    const row = document.getElementById(opener.getAttribute("aria-controls"));
    const open = opener.getAttribute("aria-expanded") !== "true";
    opener.setAttribute("aria-expanded", String(open));
    row.hidden = !open;
    if (open && !row.dataset.loaded) {
      row.dataset.loaded = "yes";
      window.htmx.trigger(row, "berth:open");
    }
  });
  document.addEventListener("htmx:sendError", (event) => { delete event.detail.elt.dataset.loaded; });
})();
