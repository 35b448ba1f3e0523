// The inbox: the current line brings its evidence along, a decided line hands on to the next, and no key acts on
// evidence that is not on the screen yet.
(() => {
  "use strict";
  const ACTS = new Set(["a", "e", "d", "s", "S", "u"]);
  const NEAR_THE_END = 5;
  const evidence = () => document.getElementById("evidence");
  const entries = () => [...document.querySelectorAll("#entries > .entry")];
  const entryOf = (item) => (item ? entries().find((entry) => entry.dataset.item === item) : undefined);
  let deciding = false; // an act was sent, and its answer brings the next item

  let wanted = evidence()?.dataset.item; // whose evidence is to stand there
  let loading = false;

  // One request at a time: whoever walks on meanwhile gets the last line, not each between.
  function open(entry) {
    if (!entry || deciding || wanted === entry.dataset.item) return;
    wanted = entry.dataset.item;
    load();
  }

  function load() {
    const entry = entryOf(wanted);
    if (!entry) return;
    evidence().setAttribute("aria-busy", "true");
    if (loading) return;
    loading = true;
    htmx.trigger(entry.querySelector(".entry-title"), "open");
  }

  function loaded(successful) {
    loading = false;
    if (!successful) wanted = evidence().dataset.item;
    if (wanted === evidence().dataset.item) evidence().removeAttribute("aria-busy");
    else load();
  }

  function mark(entry) {
    for (const other of entries()) {
      if (other === entry) other.setAttribute("aria-current", "true");
      else other.removeAttribute("aria-current");
    }
  }

  function fill() {
    const more = document.querySelector("#load-more a[hx-get]");
    if (!more || more.dataset.asked) return;
    const all = entries();
    const at = all.indexOf(entryOf(wanted));
    if (at >= 0 && at < all.length - NEAR_THE_END) return;
    more.dataset.asked = "1";
    more.click();
  }

  // Focus is what j, k and Tab move: the evidence follows it.
  document.addEventListener("focusin", (event) => {
    const entry = event.target.closest("#entries > .entry");
    if (!entry) return;
    open(entry);
    mark(entry);
    fill();
  });

  document.addEventListener("keydown", (event) => {
    const panel = evidence();
    if (!panel || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog")) return;
    if (panel.getAttribute("aria-busy") === "true" && ACTS.has(event.key)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    const also = panel.querySelector(`[data-also="${CSS.escape(event.key)}"]`);
    if (!also || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    also.click();
  }, true);

  document.addEventListener("htmx:beforeRequest", (event) => {
    const panel = evidence();
    if (event.detail.target !== panel || event.detail.requestConfig.verb !== "post") return;
    deciding = true;
    panel.setAttribute("aria-busy", "true");
    entryOf(panel.dataset.item)?.classList.add("is-leaving");
  });

  function settle() {
    const panel = evidence();
    const entry = entryOf(panel.dataset.item);
    entry?.classList.remove("is-leaving");
    if (panel.querySelector("[role=alert], .errorlist")) panel.focus({ preventScroll: true });
    else if (entry) {
      entry.tabIndex = -1;
      entry.focus({ preventScroll: true });
      entry.scrollIntoView({ block: "nearest" });
    } else document.getElementById("main").focus({ preventScroll: true });
    if (!entry) mark(undefined);
  }

  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.target.closest?.(".entry-title")) {
      loaded(event.detail.successful);
      return;
    }
    if (!deciding || event.detail.requestConfig?.verb !== "post") return;
    deciding = false;
    wanted = evidence().dataset.item;
    evidence().removeAttribute("aria-busy");
    for (const entry of entries()) entry.classList.remove("is-leaving");
    if (event.detail.successful || event.detail.xhr.getResponseHeader("X-Fragment")) settle();
    select();
    fill();
  });

  // A click has moved the focus already. On a phone the evidence stands below the list: a tap leads to it.
  document.addEventListener("click", (event) => {
    const title = event.target.closest("#entries .entry-title");
    if (!title || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(title.closest(".entry"));
    if (matchMedia("(max-width: 56rem)").matches) evidence().scrollIntoView({ block: "start" });
  });

  // Selecting -------------------------------------------------------------------------------

  const everything = () => document.querySelector("#inbox-bar [name=all]");
  const boxes = () => [...document.querySelectorAll("#entries input[name=item]")];

  function select() {
    const form = document.getElementById("bulk");
    if (!form) return;
    const chosen = boxes().filter((box) => box.checked).length;
    const all = everything()?.checked ?? false;
    form.querySelector("[data-selected]").textContent = all ? document.getElementById("inbox-bar").dataset.all : `${chosen} selected`;
    form.toggleAttribute("data-idle", !all && !chosen);
  }
  document.addEventListener("change", (event) => {
    if (event.target === everything()) {
      for (const box of boxes()) box.checked = event.target.checked;
    } else if (event.target.matches("#entries input[name=item]") && !event.target.checked) {
      if (everything()) everything().checked = false;
    }
    select();
  });
  document.addEventListener("htmx:afterSettle", select);
  select();
})();
