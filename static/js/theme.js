// Runs in <head> before the first paint, so that a remembered theme never flashes.
(() => {
  "use strict";
  const root = document.documentElement;
  const KEY = "theme";
  const CHOICES = ["light", "dark"];

  function remembered() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is blocked: follow the system
    }
  }

  function remember(choice) {
    try {
      if (CHOICES.includes(choice)) localStorage.setItem(KEY, choice);
      else localStorage.removeItem(KEY);
    } catch {
      // storage is blocked: the choice lasts for this page
    }
  }

  function apply(choice) {
    if (CHOICES.includes(choice)) root.dataset.theme = choice;
    else delete root.dataset.theme;
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === (root.dataset.theme ?? "system")));
    }
    document.dispatchEvent(new Event("themechange"));
  }

  root.dataset.js = "";
  apply(remembered());

  document.addEventListener("DOMContentLoaded", () => {
    for (const group of document.querySelectorAll("[data-theme-switch]")) group.hidden = false;
    apply(remembered());
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-choice]");
    if (!button) return;
    remember(button.dataset.themeChoice);
    apply(button.dataset.themeChoice);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.dispatchEvent(new Event("themechange"));
  });
})();
