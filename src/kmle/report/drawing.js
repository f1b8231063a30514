"use strict";
// How figures are drawn with Plotly: the colours of the light or the dark side, axes, legends. Reports and the explorer
// use it. `content` has the palettes of components and lines, and lists that several traces share.
const kmleDrawing = (() => {
  const darkSide = window.matchMedia("(prefers-color-scheme: dark)");
  const INKS = {
    light: { ink: "#22262b", muted: "#5f6770", grid: "#e6e8eb", bars: "#d4d8dd", paper: "#ffffff", accent: "#0a6aa8" },
    dark: { ink: "#e6e8eb", muted: "#9aa3ad", grid: "#333a42", bars: "#464e58", paper: "#1c2025", accent: "#62b6ec" },
  };
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const settings = (figure, width, more) => {
    const bare = (figure.layout.xaxis || {}).visible === false;
    const buttons = bare ? ["toImage"] : ["toImage", "zoom2d", "pan2d", ...more, "resetScale2d"];
    return {
      responsive: true, displaylogo: false, showTips: false, modeBarButtons: [buttons],
      displayModeBar: width < NARROW ? false : "hover",
    };
  };
  const NARROW = 480;
  let wanted = null;

  const side = () => wanted || (darkSide.matches ? "dark" : "light");

  function transparent(colour, share) {
    const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return `rgba(${parts.join(",")},${share})`;
  }

  // Black or white, whichever is read better on a colour: one of them has a contrast of 4.5 to 1 with any.
  function readableOn(ground) {
    const parts = [1, 3, 5].map((at) => parseInt(ground.slice(at, at + 2), 16) / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
  }

  function colour(mark, content) {
    const [name, share] = mark.slice(1).split("/");
    const on = /^on(\d+)$/.exec(name);
    if (on) return readableOn(content.palettes[side()][Number(on[1])]);
    const line = /^line(\d+)$/.exec(name);
    const found = INKS[side()][name] || (line ? content.lines : content.palettes)[side()][Number(line ? line[1] : name)];
    return share ? transparent(found, share) : found;
  }

  // Only what is a colour by its key is replaced: a column may be called "@ink".
  function coloured(value, key, content) {
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((item) => coloured(item, "", content));
    if (value && typeof value === "object") {
      if ("shared" in value) return content.shared[value.shared];
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, name, content)]));
    }
    return typeof value === "string" && /color$/.test(key) && value[0] === "@" ? colour(value, content) : value;
  }

  // `room` is what a panel of several has for its title, in pixels.
  function axis(given, room) {
    const ink = INKS[side()];
    const title = { ...(given.title || {}), standoff: 8 };
    const letters = Math.max(3, Math.floor(room / 6.5));
    if (room < 130 && title.text) {
      title.font = { size: 11 };
      if (title.text.length > letters && !/[&<]/.test(title.text)) title.text = `${title.text.slice(0, letters - 1)}…`;
    }
    return {
      gridcolor: ink.grid, linecolor: ink.grid, zerolinecolor: ink.grid, zeroline: false, automargin: true, separatethousands: true,
      tickfont: { color: ink.muted }, exponentformat: "power", ...given, title,
    };
  }

  function layout(given, width, tall) {
    const ink = INKS[side()];
    const narrow = width < NARROW;
    const below = { orientation: "h", y: -70 / Math.max(tall - 130, 70), yanchor: "top", x: 0, xanchor: "left", title: { text: "" } };
    const legend = narrow ? { ...given.legend, ...below } : { x: 1.01, y: 1, ...given.legend };
    const { height, ...rest } = given;
    const names = Object.keys(given).filter((name) => /^[xy]axis\d*$/.test(name));
    const across = new Set(names.filter((name) => name[0] === "x").map((name) => String((given[name] || {}).domain))).size || 1;
    const room = across > 1 ? (width - 90) / across : Infinity;
    const axes = Object.fromEntries((names.length ? names : ["xaxis", "yaxis"]).map((name) => [name, axis(given[name] || {}, room)]));
    return {
      font: { family: FONT, size: 13, color: ink.ink }, paper_bgcolor: ink.paper, plot_bgcolor: ink.paper,
      margin: { l: narrow ? 24 : 56, r: narrow ? 6 : 16, t: narrow ? 10 : 30, b: 48 }, hovermode: "closest", uirevision: "kept", dragmode: narrow ? false : "zoom",
      ...rest, height: height || null, autosize: true, ...axes,
      legend: { font: { color: ink.ink }, itemsizing: "constant", ...legend },
      separators: ".\u202f",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink.muted, activecolor: ink.ink },
      hoverlabel: { bgcolor: ink.ink, bordercolor: ink.ink, font: { color: ink.paper } },
    };
  }

  // Draws a figure in its place; what the reader zoomed or hid stays while `view` is the same. `more` changes the layout.
  function draw(place, figure, content, view, more = {}, buttons = []) {
    place.style.height = figure.layout.height ? `${figure.layout.height}px` : "";
    const shape = { ...layout(figure.layout, place.clientWidth, place.clientHeight), uirevision: view, ...more };
    const ready = settings(figure, place.clientWidth, buttons);
    return Plotly.react(place, coloured(figure.data, "", content), coloured(shape, "", content), ready);
  }

  function badges(root, content) {
    root.querySelectorAll("[data-component]").forEach((badge) => {
      const own = content.palettes[side()][Number(badge.dataset.component)];
      badge.style.setProperty("--own", own);
      badge.style.color = readableOn(own);
    });
  }

  const choose = (name) => { wanted = name; };
  const chosenSide = () => wanted;
  return { badges, choose, chosenSide, darkSide, draw, side };
})();
