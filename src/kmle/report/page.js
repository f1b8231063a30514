"use strict";
(() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const root = document.documentElement;
  const darkSide = window.matchMedia("(prefers-color-scheme: dark)");
  const INKS = {
    light: { ink: "#22262b", muted: "#5f6770", grid: "#e6e8eb", bars: "#d4d8dd", paper: "#ffffff", accent: "#0a6aa8" },
    dark: { ink: "#e6e8eb", muted: "#9aa3ad", grid: "#333a42", bars: "#464e58", paper: "#1c2025", accent: "#62b6ec" },
  };
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const settings = (figure, width) => {
    const flat = !figure.layout.polar && !figure.layout.ternary;
    const buttons = flat ? ["toImage", "zoom2d", "pan2d", "resetScale2d"] : ["toImage"];
    return {
      responsive: true, displaylogo: false, showTips: false, modeBarButtons: [buttons],
      displayModeBar: width < NARROW ? false : "hover",
    };
  };
  const NARROW = 480;
  const chosen = {};
  let wanted = null;

  const side = () => wanted || (darkSide.matches ? "dark" : "light");

  function transparent(colour, share) {
    if (colour.startsWith("hsl(")) return colour.replace("hsl(", "hsla(").replace(")", `,${share})`);
    const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return `rgba(${parts.join(",")},${share})`;
  }

  function colour(mark) {
    const [name, share] = mark.slice(1).split("/");
    const found = INKS[side()][name] || content.palettes[side()][Number(name)];
    return share ? transparent(found, share) : found;
  }

  // Only what is a colour by its key is replaced: a column may be called "@ink".
  function coloured(value, key) {
    if (Array.isArray(value)) return value.map((item) => coloured(item, ""));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, name)]));
    }
    return typeof value === "string" && /color$/.test(key) && value[0] === "@" ? colour(value) : value;
  }

  function axis(given) {
    const ink = INKS[side()];
    const title = { ...(given.title || {}), standoff: 8 };
    return {
      gridcolor: ink.grid, linecolor: ink.grid, zerolinecolor: ink.grid, zeroline: false, automargin: true, separatethousands: true,
      tickfont: { color: ink.muted }, exponentformat: "power", ...given, title,
    };
  }

  function layout(given, width) {
    const ink = INKS[side()];
    const narrow = width < NARROW;
    const below = { orientation: "h", y: -0.2, yanchor: "top", x: 0, title: { text: "" } };
    const legend = narrow ? { ...given.legend, ...below } : { x: 1.01, y: 1, ...given.legend };
    const { height, polar, ternary, ...rest } = given;
    const circle = { gridcolor: ink.grid, linecolor: ink.grid, tickfont: { color: ink.muted } };
    const result = {
      font: { family: FONT, size: 13, color: ink.ink }, paper_bgcolor: ink.paper, plot_bgcolor: ink.paper,
      margin: { l: 56, r: 16, t: narrow ? 10 : 30, b: 48 }, hovermode: "closest", uirevision: "kept", dragmode: narrow ? false : "zoom",
      ...rest, height: height || null, autosize: true,
      xaxis: axis(given.xaxis || {}), yaxis: axis(given.yaxis || {}),
      legend: { font: { color: ink.ink }, itemsizing: "constant", ...legend },
      separators: ".\u202f",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink.muted, activecolor: ink.ink },
      hoverlabel: { bgcolor: ink.ink, bordercolor: ink.ink, font: { color: ink.paper } },
    };
    if (polar) {
      result.margin = { l: 40, r: 40, t: 36, b: 36 };
      result.polar = {
        bgcolor: ink.paper, angularaxis: { ...circle, direction: "counterclockwise" },
        radialaxis: { ...circle, angle: 45, tickangle: 0, ...polar.radialaxis },
      };
    }
    if (ternary) {
      const sides = Object.entries(ternary).map(([name, item]) => [name, { ...circle, min: 0, ...item }]);
      result.margin = { l: 60, r: 60, t: 48, b: 48 };
      result.ternary = { sum: 1, bgcolor: ink.paper, ...Object.fromEntries(sides) };
    }
    return result;
  }

  function draw(place) {
    const key = place.dataset.panel;
    const figure = content.panels[key][chosen[key] || 0];
    if (figure.layout.height) place.style.height = `${figure.layout.height}px`;
    place.closest("figure").querySelector(".view-note").textContent = figure.note;
    const shape = { ...layout(figure.layout, place.clientWidth), uirevision: `view ${chosen[key] || 0}` };
    return Plotly.react(place, coloured(figure.data, ""), coloured(shape, ""), settings(figure, place.clientWidth));
  }

  function drawAll() {
    root.dataset.theme = side();
    document.querySelectorAll("[data-component]").forEach((badge) => {
      badge.style.setProperty("--own", content.palettes[side()][Number(badge.dataset.component)]);
    });
    return Promise.all([...document.querySelectorAll(".plot")].map(draw));
  }

  document.querySelectorAll("select[data-for]").forEach((list) => {
    list.addEventListener("change", () => {
      chosen[list.dataset.for] = Number(list.value);
      draw(document.getElementById(`plot-${list.dataset.for}`));
    });
  });
  document.getElementById("theme").addEventListener("click", () => {
    wanted = side() === "dark" ? "light" : "dark";
    drawAll();
  });
  darkSide.addEventListener("change", drawAll);
  document.getElementById("download").addEventListener("click", () => {
    const text = JSON.stringify(JSON.parse(document.getElementById("model").textContent));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "model.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  // Paper is white, and as wide as it is.
  let before = null;
  window.addEventListener("beforeprint", () => { before = wanted; wanted = "light"; drawAll(); });
  window.addEventListener("afterprint", () => { wanted = before; drawAll(); });
  drawAll().then(() => { root.dataset.drawn = "yes"; });
})();
