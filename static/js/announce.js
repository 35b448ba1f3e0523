// Says in the page's role="status" region what a swap brought, and that a request failed.
(() => {
  "use strict";
  const status = () => document.getElementById("status");

  function say(text) {
    const region = status();
    if (!region || !text) return;
    region.textContent = "";
    // A live region speaks when its text changes; the same sentence twice needs a gap between.
    setTimeout(() => { region.textContent = text; }, 50);
  }

  const heard = new WeakMap();
  function news() {
    let text;
    for (const element of document.querySelectorAll("[data-announce]")) {
      if (heard.get(element) !== element.dataset.announce) text = element.dataset.announce;
      heard.set(element, element.dataset.announce);
    }
    return text;
  }

  document.addEventListener("DOMContentLoaded", news);
  document.addEventListener("htmx:afterRequest", () => say(news()));

  function fail(text) {
    document.dispatchEvent(new CustomEvent("toast", { detail: { text, level: "error" } }));
  }

  document.addEventListener("htmx:sendError", () => fail("No answer from the server. Nothing was changed; try again."));
  document.addEventListener("htmx:timeout", () => fail("The server took too long. Reload the page to see what was done."));
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    // A refusal that the server worded (a form with errors, a row somebody else decided) is shown in place.
    if ([400, 404, 409, 422].includes(xhr.status) && xhr.getResponseHeader("X-Fragment")) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });
  document.addEventListener("htmx:responseError", (event) => {
    const { status: code } = event.detail.xhr;
    if (code === 403) fail("You may not do that, or your session has ended. Reload the page.");
    else if (code === 404) fail("That is no longer here. Reload the page.");
    else if (code === 409) fail("Somebody else has already decided this. Reload the page to see how.");
    else fail(`The server answered with error ${code}. Nothing was changed; try again.`);
  });
})();
