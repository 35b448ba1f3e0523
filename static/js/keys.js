// j and k walk the rows of a [data-keylist]; a [data-key] control answers its letter, in the current row first.
// After an htmx swap the row that took a vanished row's place gets the focus.
(() => {
  "use strict";
  const TYPING = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, [contenteditable]";
  let place = 0;
  let implied = false; // the current row was marked by the page and not reached by a person yet

  const rows = () => [...document.querySelectorAll("[data-keylist] [data-row]")].filter((row) => row.checkVisibility());
  const current = () => document.querySelector("[data-keylist] [data-row][data-current]");

  function select(row, { focus = true } = {}) {
    if (!row) return;
    for (const other of document.querySelectorAll("[data-row][data-current]")) delete other.dataset.current;
    row.dataset.current = "";
    place = rows().indexOf(row);
    implied = false;
    if (!focus) return;
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  // Letters act on the current row, so there is one from the start, and the first j or k goes to it.
  function imply() {
    const all = rows();
    if (current() || !all.length) return;
    select(all[Math.min(Math.max(place, 0), all.length - 1)], { focus: false });
    implied = true;
  }

  function step(by) {
    const all = rows();
    if (!all.length) return;
    if (implied && current()) {
      select(current());
      return;
    }
    const index = all.indexOf(current());
    select(all[index < 0 ? 0 : Math.min(Math.max(index + by, 0), all.length - 1)]);
  }

  function controlFor(key) {
    const usable = (control) => control.dataset.key === key && !control.disabled && control.checkVisibility();
    const inRow = [...(current()?.querySelectorAll("[data-key]") ?? [])].find(usable);
    if (inRow) return inRow;
    // The last one: of several toasts, "u" undoes the newest.
    return [...document.querySelectorAll("[data-key]")].findLast((control) => usable(control) && !control.closest("[data-row]"));
  }

  function press(control) {
    if (control.matches(TYPING)) {
      control.focus();
      control.select?.();
      return;
    }
    control.click();
    if (control.matches("summary")) control.parentElement.querySelector("textarea, input:not([type=hidden]), button")?.focus();
  }

  function labelOf(control) {
    if (control.dataset.keyLabel) return control.dataset.keyLabel;
    const copy = control.cloneNode(true);
    for (const hint of copy.querySelectorAll("kbd, .key-hint")) hint.remove();
    return copy.textContent.trim().replace(/\s+/g, " ");
  }

  function line(list, key, label) {
    const term = document.createElement("dt");
    const hint = document.createElement("kbd");
    const words = document.createElement("dd");
    hint.textContent = key;
    words.textContent = label;
    term.append(hint);
    list.append(term, words);
  }

  function help() {
    const dialog = document.getElementById("key-help");
    if (!dialog || dialog.open) return;
    const list = dialog.querySelector("dl");
    list.replaceChildren();
    if (rows().length) {
      line(list, "j", "Next row");
      line(list, "k", "Previous row");
    }
    const seen = new Map();
    for (const control of document.querySelectorAll("[data-key]")) {
      if (!seen.has(control.dataset.key)) seen.set(control.dataset.key, labelOf(control));
    }
    for (const [key, label] of seen) line(list, key, label);
    line(list, "?", "This list");
    line(list, "Esc", "Close, or leave a field");
    dialog.showModal();
  }

  function leave(element) {
    const question = element.closest("details.confirm[open]");
    if (question) {
      question.open = false;
      question.querySelector("summary").focus();
    } else if (element.closest(TYPING)) element.blur();
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return leave(event.target);
    if (event.target.closest(TYPING)) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    if (event.key === "?") help();
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else {
      const control = controlFor(event.key);
      if (!control) return;
      press(control);
    }
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-key-help]")) help();
  });
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-keylist] [data-row]");
    if (row && row !== current()) select(row, { focus: false });
  });

  let focusWasInside = false;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const row = current();
    if (row) place = rows().indexOf(row);
    focusWasInside = event.detail.target.contains(document.activeElement);
  });
  function refocus() {
    const lost = document.activeElement === document.body || document.activeElement === null;
    if (!focusWasInside || !lost) return;
    focusWasInside = false;
    const all = rows();
    if (all.length) select(all[Math.min(Math.max(place, 0), all.length - 1)]);
    else document.getElementById("main")?.focus({ preventScroll: true });
  }
  // A swap that leaves nothing behind settles nothing, so the end of the request counts too.
  for (const name of ["htmx:afterSettle", "htmx:afterRequest"]) {
    document.addEventListener(name, () => {
      refocus();
      imply();
    });
  }
  imply();
})();
