"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const config = { responsive: true,
                   displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false, displaylogo: false,
                   modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] };
  const step = 150; // milliseconds between places of a slider that plays

  const placeOf = (element) => {
    const explorer = element.closest(".explorer");
    if (!explorer) return null;
    const at = Number(explorer.querySelector("input").value);
    return { at, value: JSON.parse(explorer.dataset.values)[at] };
  };

  const cursor = (chart, value) => [...(chart.layout.shapes || []), {
    type: "line", xref: "x", yref: "paper", x0: value, x1: value, y0: 0, y1: 1,
    line: { color: "#222", width: 1, dash: "dash" },
  }];

  // what a chart shows at one place of its slider
  const move = (element) => {
    const chart = charts[element.id], place = placeOf(element);
    if (!place || !element.drawn) return;
    for (const [trace, attributes] of Object.entries(chart.frames || {})) {
      const change = {};
      for (const [name, values] of Object.entries(attributes)) change[name] = [values[place.at]];
      Plotly.restyle(element, change, [Number(trace)]);
    }
    if (chart.cursor) Plotly.relayout(element, { shapes: cursor(chart, place.value) });
  };

  const draw = (element) => {
    const chart = charts[element.id];
    Plotly.newPlot(element, chart.data, chart.layout, config);
    element.drawn = true;
    move(element);
  };

  // charts are drawn once they come near the window, so that a long page opens at once
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "400px" });
  document.querySelectorAll(".chart").forEach((element) => watcher.observe(element));

  for (const explorer of document.querySelectorAll(".explorer")) {
    const input = explorer.querySelector("input"), play = explorer.querySelector(".play");
    const values = JSON.parse(explorer.dataset.values);
    let waiting = false, timer = null;
    const show = () => {
      waiting = false;
      explorer.querySelector("output").textContent = Number(values[input.value].toPrecision(4));
      explorer.querySelectorAll(".chart").forEach(move);
    };
    const stop = () => { clearInterval(timer); timer = null; play.textContent = "▶"; };
    input.addEventListener("input", () => {
      if (!waiting) { waiting = true; requestAnimationFrame(show); }
    });
    play.addEventListener("click", () => {
      if (timer) { stop(); return; }
      play.textContent = "⏸";
      timer = setInterval(() => {
        input.value = (Number(input.value) + 1) % values.length;
        show();
      }, step);
    });
    show();
  }

  for (const tabs of document.querySelectorAll(".tabs")) {
    const buttons = [...tabs.querySelectorAll(":scope > [role=tablist] > [role=tab]")];
    const panels = [...tabs.querySelectorAll(":scope > [role=tabpanel]")];
    buttons.forEach((button, chosen) => button.addEventListener("click", () => {
      buttons.forEach((one, i) => one.setAttribute("aria-selected", String(i === chosen)));
      panels.forEach((panel, i) => { panel.hidden = i !== chosen; });
      // the window may have changed its width meanwhile
      for (const element of panels[chosen].querySelectorAll(".chart")) {
        if (element.drawn && element.offsetParent) Plotly.Plots.resize(element);
      }
    }));
  }
})();
