// Draws each [data-chart] figure from the JSON beside it, in the colours of the theme.
// A trace names its colours by token: {"meta": {"colour": "kind-fact"}} or a list with one per point.
// A point whose customdata is a path of this site opens that page.
(() => {
  "use strict";
  const CONFIG = { displayModeBar: false, displaylogo: false, showSendToCloud: false, responsive: false, scrollZoom: false, doubleClick: false };
  const drawn = new Map();

  // getComputedStyle gives custom properties unresolved; a real property gives the colour of the theme in force.
  function tokens() {
    const probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
    const read = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    return { read, done: () => probe.remove() };
  }

  function paint(trace, read, index) {
    const names = trace.meta?.colour ?? `chart-${(index % 3) + 1}`;
    const colour = Array.isArray(names) ? names.map(read) : read(names);
    const single = Array.isArray(colour) ? colour[0] : colour;
    const painted = { ...trace, marker: { ...trace.marker, color: colour }, textfont: { color: read("text"), ...trace.textfont } };
    if (trace.type === "pie") painted.marker = { ...trace.marker, colors: colour };
    if (trace.type === "scatter") painted.line = { width: 2, ...trace.line, color: single };
    return painted;
  }

  function axis(given, read) {
    return {
      gridcolor: read("chart-grid"), linecolor: read("border-strong"), zerolinecolor: read("border-strong"),
      ticks: "", fixedrange: true, automargin: true, ...given,
      tickfont: { color: read("text-muted"), size: 12, ...given?.tickfont },
    };
  }

  function layoutOf(figure, read) {
    const given = figure.layout ?? {};
    const layout = {
      autosize: true, dragmode: false, showlegend: false, bargap: 0.4, height: 260, barcornerradius: 2,
      margin: { l: 8, r: 12, t: 12, b: 8 }, ...given,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: read("text"), ...given.font },
      hoverlabel: { bgcolor: read("surface-raised"), bordercolor: read("border-strong"), font: { color: read("text") }, ...given.hoverlabel },
    };
    const sideways = (figure.data ?? []).some((trace) => trace.orientation === "h");
    for (const key of new Set(["xaxis", "yaxis", ...Object.keys(given).filter((name) => /^[xy]axis\d*$/.test(name))])) {
      layout[key] = axis({ showgrid: key.startsWith("x") === sideways, showline: key.startsWith("x") !== sideways, ...given[key] }, read);
    }
    layout.shapes = (given.shapes ?? []).map((shape) => ({ ...shape, line: { width: 1, dash: "dot", ...shape.line, color: read("text-muted") } }));
    layout.annotations = (given.annotations ?? []).map((note) => ({ showarrow: false, ...note, font: { size: 12, ...note.font, color: read("text-muted") } }));
    return layout;
  }

  function draw(chart) {
    const plot = chart.querySelector("[data-plot]");
    const source = chart.querySelector('script[type="application/json"]');
    if (!plot || !source || !globalThis.Plotly) return;
    const figure = drawn.get(chart) ?? JSON.parse(source.textContent);
    const { read, done } = tokens();
    const traces = (figure.data ?? []).map((trace, index) => paint(trace, read, index));
    Plotly.react(plot, traces, layoutOf(figure, read), CONFIG);
    done();
    if (!drawn.has(chart)) attend(chart, plot);
    drawn.set(chart, figure);
  }

  function attend(chart, plot) {
    plot.on("plotly_click", ({ points }) => {
      const [address] = [points[0]?.customdata].flat();
      if (typeof address === "string" && /^\/(?!\/)/.test(address)) location.assign(address);
    });
    let width = plot.clientWidth;
    new ResizeObserver(() => {
      if (!plot.isConnected || plot.clientWidth === width || plot.clientWidth === 0) return;
      width = plot.clientWidth;
      Plotly.Plots.resize(plot);
    }).observe(plot);
  }

  function forget() {
    for (const chart of drawn.keys()) {
      if (chart.isConnected) continue;
      Plotly.purge(chart.querySelector("[data-plot]"));
      drawn.delete(chart);
    }
  }

  function drawAll() {
    forget();
    for (const chart of document.querySelectorAll("[data-chart]")) draw(chart);
  }

  document.addEventListener("DOMContentLoaded", drawAll);
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("themechange", drawAll);
})();
