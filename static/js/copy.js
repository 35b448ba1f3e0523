// A [data-copy] button copies the text of the element its selector names, as it was stored: the marks that stand for
// invisible characters become those characters again.
(() => {
  "use strict";

  function textOf(element) {
    const copy = element.cloneNode(true);
    for (const mark of copy.querySelectorAll(".control-char")) {
      mark.replaceWith(String.fromCodePoint(parseInt(mark.textContent.slice(2), 16)));
    }
    return copy.textContent;
  }

  // Where a page came over plain http from another machine, browsers offer no clipboard but this old way.
  function copyTheOldWay(text) {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "visually-hidden";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }

  async function copy(text) {
    if (!navigator.clipboard) return copyTheOldWay(text);
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyTheOldWay(text); // the person or the browser refused the clipboard
    }
  }

  function say(text, level) {
    document.dispatchEvent(new CustomEvent("toast", { detail: { text, level } }));
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    const source = button && document.querySelector(button.dataset.copy);
    if (!source) return;
    const done = await copy(textOf(source));
    button.focus();
    if (done) say("Copied.", "success");
    else say("The browser does not let this page copy. Select the text and copy it by hand.", "error");
  });
})();
