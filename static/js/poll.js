// A [data-poll] element asks again by itself only while its tab is looked at; htmx filters for that would need eval.
(() => {
  "use strict";
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.matches("[data-poll]")) event.preventDefault();
  });
})();
