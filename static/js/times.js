// Shortens server-rendered relative times ("2 weeks, 3 days ago") to "17 d ago" and keeps them true while the page is open.
// The absolute time stays in the title.
(() => {
  "use strict";
  const STEPS = [[60, 1, "s"], [3600, 60, "min"], [172800, 3600, "h"], [8640000, 86400, "d"], [63072000, 2629800, "mo"], [Infinity, 31557600, "y"]];

  function words(seconds) {
    const size = Math.abs(seconds);
    if (size < 45) return "just now";
    // Whole units that have passed: 16.6 years are not 17.
    const [, unit, name] = STEPS.find(([limit]) => size < limit);
    const amount = `${Math.floor(size / unit)} ${name}`;
    return seconds >= 0 ? `${amount} ago` : `in ${amount}`;
  }

  function refresh() {
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const then = Date.parse(time.dateTime);
      if (!Number.isNaN(then)) time.textContent = words((Date.now() - then) / 1000);
    }
  }

  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
  setInterval(refresh, 60000);
})();
