// Toasts stay for 30 seconds, the time in which an action can be undone on the spot; pointing at or focusing one keeps it.
(() => {
  "use strict";
  const SECONDS = 30;
  const region = () => document.getElementById("toasts");

  function watch(toast) {
    if (toast.dataset.watched !== undefined) return;
    toast.dataset.watched = "";
    if (toast.matches(".error")) return;
    let left = SECONDS;
    const timer = setInterval(() => {
      if (!toast.isConnected) return clearInterval(timer);
      if (toast.matches(":hover, :focus-within")) return undefined;
      left -= 1;
      if (left <= 0) toast.remove();
      return undefined;
    }, 1000);
  }

  function show(text, level) {
    const template = document.getElementById("toast-template");
    if (!region() || !template) return;
    const toast = template.content.firstElementChild.cloneNode(true);
    toast.classList.add(level);
    toast.querySelector("p").textContent = text;
    region().append(toast);
    watch(toast);
  }

  function watchAll() {
    for (const toast of document.querySelectorAll(".toast")) watch(toast);
  }

  document.addEventListener("toast", (event) => show(event.detail.text, event.detail.level ?? "info"));
  document.addEventListener("click", (event) => event.target.closest("[data-dismiss]")?.closest(".toast")?.remove());
  document.addEventListener("DOMContentLoaded", watchAll);
  document.addEventListener("htmx:afterSettle", watchAll);
  document.addEventListener("htmx:oobAfterSwap", watchAll);
})();
