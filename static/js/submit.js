/* The submit form: asks for a preview 400 ms after typing stops, drops answers that come out of order, keeps a half-filled form
   through a change of language. Old numbers stay on the page, marked, until new ones arrive. */
(() => {
  "use strict";

  const QUIET_MS = 400;
  const DRAFT = "berth:submit-draft";

  const form = document.querySelector("[data-preview-form]");
  const box = document.getElementById("preview");
  if (!form || !box) return;

  let timer = 0;
  let asked = 0;
  let shown = 0;

  const mark = (state) => {
    box.dataset.preview = state;
    box.classList.toggle("b-preview--updating", state === "updating");
    const word = box.querySelector("[data-preview-word]");
    if (word) word.textContent = box.dataset[`word${state[0].toUpperCase()}${state.slice(1)}`] || "";
  };

  const follow = () => {
    const verdict = box.querySelector("[data-button-word]");
    const button = form.querySelector("[data-submit-word]");
    if (!verdict || !button) return;
    button.textContent = verdict.dataset.buttonWord;
    form.querySelector("[data-summary-word]").textContent = verdict.dataset.summary;
  };

  const ask = async () => {
    const number = ++asked;
    mark("updating");
    try {
      const answer = await window.fetch(form.dataset.previewForm, {
        method: "POST",
        body: new FormData(form),
        credentials: "same-origin",
        headers: { "HX-Request": "true" },
      });
      if (number < shown || number < asked) return;
      shown = number;
      if (!answer.ok) { mark("failed"); return; }
      box.innerHTML = await answer.text();
      mark("fresh");
      follow();
    } catch (error) {
      if (number === asked) mark("failed");
    }
  };

  const later = (wait) => { window.clearTimeout(timer); timer = window.setTimeout(ask, wait); };

  form.addEventListener("input", (event) => { if (!event.isComposing) later(QUIET_MS); });
  form.addEventListener("compositionend", () => later(QUIET_MS));
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-reloads]")) { form.querySelector("[data-reload]").click(); return; }
    later(QUIET_MS);
  });
  box.addEventListener("click", (event) => {
    const use = event.target.closest("[data-use]");
    if (!use) return;
    Object.entries(JSON.parse(use.dataset.use)).forEach(([name, value]) => {
      const field = form.elements.namedItem(name);
      if (field) field.value = value;
    });
    later(0);
  });

  /* Half-filled forms survive the language switch, which is a full page load. */
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-keep-draft]")) return;
    window.sessionStorage.setItem(DRAFT, JSON.stringify([...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken")));
  });
  const draft = window.sessionStorage.getItem(DRAFT);
  if (draft) {
    window.sessionStorage.removeItem(DRAFT);
    JSON.parse(draft).forEach(([name, value]) => {
      const field = form.elements.namedItem(name);
      if (field && "value" in field) field.value = value;
    });
  }
  document.querySelector("#problems")?.focus();
  later(0);
})();
