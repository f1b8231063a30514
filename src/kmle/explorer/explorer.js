"use strict";
// The page: settings are sent as they change, and the newest answer is drawn. Names come as text, tables as escaped HTML.
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const address = location.href.replace(/^http/, "ws").replace(/[#?].*$/, "") + "socket";
  // Components on the slider; more are typed. Columns for which buttons choose all or none.
  const SLIDER = 12, MANY_COLUMNS = 6;
  const STAGES = { sample: "first fit, all rows follow", early: "all rows, getting better", all: "all rows" };
  const state = { number: 0, page: "", view: "", chosen: [], now: null, kept: null, checks: {}, controls: null, sent: 0 };
  let socket = null;

  // Settings ----------------------------------------------------------------------------------------------------------

  const picked = (name) => document.querySelector(`input[name="${name}"]:checked`).value;

  function fixedValues() {
    const given = [...find("fixed").querySelectorAll("input")].filter((input) => input.value !== "");
    return Object.fromEntries(given.map((input) => [input.dataset.name, Number(input.value)]));
  }

  function family() {
    const structure = find("structure-control").hidden ? "" : find("structure").value;
    return structure || find("family").value || "auto";
  }

  function settings() {
    if (state.wanted) return state.wanted; // what was saved, until the controls can show it
    return {
      columns: state.chosen, family: family(), fixed: fixedValues(), n_components: Number(find("k-number").value),
      algorithm: picked("algorithm"), prior_strength: Number(find("prior").value), noise: find("noise").checked,
      labels: find("labels").value || null, drop_missing: picked("missing") === "drop",
      censoring: find("censoring").value || null, seed: Number(find("seed").value),
    };
  }

  function show(given) {
    state.chosen = given.columns;
    document.querySelectorAll("#columns input").forEach((box) => { box.checked = given.columns.includes(box.value); });
    setComponents(given.n_components);
    document.querySelector(`input[name="algorithm"][value="${given.algorithm}"]`).checked = true;
    document.querySelector(`input[name="missing"][value="${given.drop_missing ? "drop" : "use"}"]`).checked = true;
    find("prior").value = given.prior_strength;
    find("noise").checked = given.noise;
    find("seed").value = given.seed;
    find("labels").value = given.labels || "";
    find("censoring").value = given.censoring || "";
    state.wanted = given;
    if (state.controls) offer(state.controls);
  }

  function setComponents(k) {
    const slider = find("k");
    if (k > Number(slider.max)) slider.max = k;
    slider.value = k;
    find("k-number").value = k;
  }

  function send(topic, content) {
    if (!socket || socket.readyState !== WebSocket.OPEN) return;
    state.number += 1;
    if (topic === "fit") { state.newest = state.number; state.sent = performance.now(); }
    else state[topic] = state.number;
    socket.send(JSON.stringify({ topic, number: state.number, ...content }));
  }

  function ask(describe = false) {
    const wanted = settings();
    sessionStorage.setItem(location.pathname, JSON.stringify({ settings: wanted, view: state.view }));
    send("fit", { settings: wanted, view: state.view, describe });
  }

  // Controls ----------------------------------------------------------------------------------------------------------

  function options(list, entries, value) {
    list.replaceChildren(...entries.map(([key, words, disabled, title]) => {
      const option = document.createElement("option");
      option.value = key; option.textContent = words; option.disabled = Boolean(disabled); option.title = title || "";
      return option;
    }));
    if (entries.some(([key, , disabled]) => key === value && !disabled)) list.value = value;
  }

  function columnBoxes(columns) {
    find("columns").replaceChildren(...columns.map(({ name, missing }) => {
      const label = document.createElement("label");
      const box = document.createElement("input");
      label.className = "choice"; box.type = "checkbox"; box.value = name; box.checked = state.chosen.includes(name);
      const words = document.createElement("span");
      words.textContent = name;
      label.append(box, words);
      if (missing) { const small = document.createElement("small"); small.textContent = `${missing} missing`; label.append(small); }
      return label;
    }));
    find("column-buttons").hidden = columns.length < MANY_COLUMNS;
  }

  function choose(names) {
    state.chosen = names;
    document.querySelectorAll("#columns input").forEach((box) => { box.checked = names.includes(box.value); });
    ask();
  }

  function offer(controls) {
    const wanted = state.wanted || settings();
    state.controls = controls;
    state.wanted = null;
    if (!find("columns").children.length) columnBoxes(controls.columns);
    const structured = controls.structures.some((each) => each.name === wanted.family);
    const families = controls.families.map(({ name, refused }) => [name, name, refused, refused]);
    options(find("family"), [["auto", `guessed: ${controls.guess.name}`], ...families], structured ? "gaussian" : wanted.family);
    options(find("structure"), [["", "VVV: full, all their own"], ...controls.structures.filter((each) => each.name !== "gaussian-vvv")
      .map(({ name, words }) => [name, words])], structured ? wanted.family : "");
    options(find("labels"), [["", "none"], ...controls.classes.map((name) => [name, name])], wanted.labels || "");
    find("labels-control").hidden = controls.classes.length === 0;
    options(find("censoring"), [["", "none"], ...controls.censoring.map(({ key, words }) => [key, words])], wanted.censoring || "");
    find("censoring-control").hidden = controls.censoring.length === 0;
    find("missing-control").hidden = !controls.missing || find("censoring").value !== "";
    find("k-number").max = controls.most;
    find("k").max = Math.max(2, Math.min(SLIDER, controls.most), Number(find("k-number").value));
    afterFamily(wanted.fixed);
  }

  function afterFamily(values = {}) {
    const name = find("family").value;
    const { guess, families, structures } = state.controls;
    find("guess").textContent = name === "auto" ? `Guessed: ${guess.reason}.` : "";
    const gaussian = name === "gaussian" || (name === "auto" && guess.name === "gaussian");
    find("structure-control").hidden = !gaussian || structures.length === 0;
    const own = families.find((each) => each.name === name);
    find("fixed").replaceChildren(...(own ? own.fixed : []).flatMap(({ name: parameter, needed, default: usual }) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      input.type = "number"; input.step = "any"; input.id = `fixed-${parameter}`; input.dataset.name = parameter;
      input.value = values[parameter] === undefined ? "" : values[parameter];
      input.placeholder = needed ? "needed" : usual === null ? "from the data" : usual;
      label.htmlFor = input.id; label.textContent = parameter;
      return [label, input];
    }));
  }

  // Answers -----------------------------------------------------------------------------------------------------------

  const drawn = { now: null, busy: false };

  function plotted(place, plot, colours, view) {
    const content = { ...colours, shared: plot.shared || [] };
    const select = (plot.panels || []).length && place.clientWidth >= 480 ? { dragmode: "select", selections: [], selectionrevision: plot.revision || 0 } : {};
    return kmleDrawing.draw(place, plot, content, view, select, ["select2d"]);
  }

  // While one answer is drawn, only the newest of those that come is kept.
  async function drawNow() {
    if (drawn.busy) return;
    drawn.busy = true;
    try { await drawNewest(); } finally { drawn.busy = false; }
  }

  async function drawNewest() {
    while (drawn.now) {
      const answer = drawn.now;
      drawn.now = null;
      await plotted(find("plot-now"), answer.plot, answer.colours, `${answer.plot.view} ${answer.columns}`);
      describe(answer);
      root.dataset.shown = answer.number;
      root.dataset.stage = answer.stage;
      root.dataset.milliseconds = Math.round(performance.now() - state.sent);
    }
  }

  function describe(answer) {
    find("status").textContent = answer.status;
    find("now-title").textContent = answer.title;
    const stage = find("stage");
    stage.textContent = STAGES[answer.stage];
    stage.dataset.stage = answer.stage;
    find("plot-note").textContent = answer.plot.note;
    options(find("view"), answer.views.map((name) => [name, name || "the data"]), answer.plot.view);
    find("view").parentElement.hidden = answer.views.length < 2;
    find("numbers").replaceChildren(...numberCards(answer.numbers));
    table(find("components"), answer.components, answer.colours);
    find("python").textContent = answer.python;
    find("command").textContent = answer.command || "No command gives this model: use the snippet of Python.";
    document.querySelector('[data-copy="command"]').disabled = !answer.command;
    find("starts").innerHTML = answer.starts;
    const ready = answer.stage === "all";
    document.querySelectorAll("nav button, #keep").forEach((button) => { if (button.id !== "theme") button.disabled = !ready; });
    bullets(answer.notes);
    rowChoices(answer.n_components);
    find("rows-note").hidden = answer.plot.panels.length === 0;
    if (Number(root.dataset.details) !== answer.number) outdated();
  }

  function numberCards(numbers) {
    return Object.entries(numbers).map(([name, value]) => {
      const card = document.createElement("div");
      const term = document.createElement("dt");
      const words = document.createElement("dd");
      term.textContent = name; words.textContent = value;
      card.append(term, words);
      return card;
    });
  }

  // Elements that are still there stay, with what the reader opened, scrolled or focused. (Chromium also keeps a few
  // hundred bytes for every <details> that was ever on a page.)
  function follow(place, wanted) {
    const nodes = [...wanted.childNodes];
    nodes.forEach((node, at) => {
      const own = place.childNodes[at];
      if (!own) place.append(node);
      else if (own.nodeName !== node.nodeName) own.replaceWith(node);
      else if (own.nodeType !== Node.ELEMENT_NODE) own.data = node.data;
      else { attributes(own, node); follow(own, node); }
    });
    while (place.childNodes.length > nodes.length) place.lastChild.remove();
  }

  function attributes(own, wanted) {
    const ours = ["open", "style", "tabindex"];
    [...own.attributes].forEach(({ name }) => { if (!wanted.hasAttribute(name) && !ours.includes(name)) own.removeAttribute(name); });
    [...wanted.attributes].forEach(({ name, value }) => { if (name !== "open") own.setAttribute(name, value); });
  }

  function table(place, markup, colours) {
    const made = document.createElement("template");
    made.innerHTML = markup;
    follow(place, made.content);
    kmleDrawing.badges(place, colours);
    setTimeout(() => reachable(place), 100);
  }

  // Tables that scroll are reached by keys.
  function reachable(place) {
    const wide = [...place.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight);
    wide.forEach((box) => { box.tabIndex = 0; });
  }

  function bullets(notes) {
    find("notes-section").hidden = notes.length === 0;
    find("notes").replaceChildren(...notes.map((note) => {
      const item = document.createElement("li");
      item.textContent = note;
      return item;
    }));
  }

  // What follows a fit is that of the one before until it comes.
  function outdated() {
    state.checks = {};
    following(true);
  }

  const LATER = ["diagnostics", "plot-check", "check-note", "rows"];
  const following = (busy) => LATER.forEach((id) => find(id).setAttribute("aria-busy", busy));

  function details(answer) {
    if (answer.components) {
      table(find("components"), answer.components, state.now.colours);
      state.now.components = answer.components;
    }
    if (answer.diagnostics) table(find("diagnostics"), answer.diagnostics, state.now.colours);
    for (const key of ["certainty", "quantiles", "transforms"]) {
      if (key in answer) { state.checks[key] = answer[key]; if (find("check-kind").value === key) drawCheck(); }
    }
    for (const key of ["uncertain", "improbable"]) if (key in answer) state.checks[key] = answer[key];
    if ("uncertain" in answer) { root.dataset.details = answer.number; showRows(); }
    if (answer.failed) find("diagnostics").textContent = answer.failed;
    if ("uncertain" in answer || answer.failed) following(false);
  }

  function drawCheck() {
    const panel = state.checks[find("check-kind").value];
    const place = find("plot-check");
    if (!panel && place.getAttribute("aria-busy") === "true") return;
    place.hidden = !panel;
    find("check-column-label").hidden = !panel || panel.views.length < 2;
    find("check-note").textContent = panel ? panel.caption : "There is none for this fit.";
    if (!panel) return;
    const list = find("check-column");
    options(list, panel.views.map((view, at) => [String(at), view.name]), list.value);
    const figure = panel.views[Number(list.value) || 0];
    find("check-note").textContent = `${panel.caption} ${figure.note}`;
    plotted(place, figure, state.now.colours, `${find("check-kind").value} ${list.value}`);
  }

  function answered(message) {
    if (message.topic === "welcome") { welcome(message); return; }
    if (message.topic === "controls") { if (message.number === state.newest) offer(message); return; }
    if (message.topic === "fit") {
      if (message.number !== state.newest) return;
      find("wrong").hidden = !message.wrong;
      find("wrong").textContent = message.wrong || "";
      if (message.wrong) { find("status").textContent = "No fit."; root.dataset.shown = message.number; root.dataset.stage = "wrong"; }
      else if (message.stage === "details") details(message);
      else { message.plot.revision = message.number; state.now = message; drawn.now = message; drawNow(); }
    }
    if (message.topic === "compare" && message.number === state.compare) compared(message);
    if (message.topic === "rows" && message.number === state.rows) {
      if (message.wrong) find("rows").textContent = message.wrong;
      else table(find("rows"), message.table, state.now.colours);
    }
  }

  function welcome(message) {
    state.page = message.page;
    find("title").textContent = message.name;
    const saved = JSON.parse(sessionStorage.getItem(location.pathname) || "null");
    if (saved) { state.view = saved.view; show(saved.settings); } else { state.chosen = message.chosen; setComponents(message.k); }
    ask(true);
  }

  // How many components ------------------------------------------------------------------------------------------------

  function compared(message) {
    find("compare-note").textContent = message.wrong || (message.ended ? message.caption : `${message.done} of ${message.total} fits. ${message.caption}`);
    if (message.wrong || message.ended) comparing(false);
    if (message.wrong) return;
    find("compare-bar").max = message.total;
    find("compare-bar").value = message.done;
    find("plot-compare").hidden = false;
    state.comparison = message;
    plotted(find("plot-compare"), message.views[0], message.colours, `compare ${message.number}`);
    find("plot-compare").removeAllListeners("plotly_click");
    find("plot-compare").on("plotly_click", candidateClicked);
    if (message.table) table(find("compare-table"), message.table, message.colours);
  }

  function comparing(running) {
    find("cancel").hidden = !running;
    find("compare-bar").hidden = !running;
    find("compare").disabled = running;
  }

  // A click on a candidate of this family takes its number of components.
  function candidateClicked(event) {
    const k = event.points[0].x;
    if (find("compare-families").value === "this" && k !== Number(find("k-number").value)) { setComponents(k); ask(); }
  }

  // Rows ----------------------------------------------------------------------------------------------------------------

  function rowChoices(k) {
    const components = Array.from({ length: k }, (_, j) => [`component ${j}`, `of component ${j}`]);
    const list = find("rows-kind");
    options(list, [["uncertain", "least certain"], ["improbable", "least probable"], ...components], list.value);
  }

  function showRows() {
    const kind = find("rows-kind").value;
    const own = /^component (\d+)$/.exec(kind);
    if (own) send("rows", { rows: { kind: "component", component: Number(own[1]) } });
    else if (state.checks[kind] !== undefined) table(find("rows"), state.checks[kind] || "Every row has one component.", state.now.colours);
  }

  // The number of a panel is that of its axes; the first has none.
  const panelOf = (name) => Number(name.slice(1) || 1) - 1;

  function selected(event) {
    if (!event || !event.range || !state.now) return;
    const ranges = Object.entries(event.range);
    const x = ranges.find(([name]) => name[0] === "x");
    const y = ranges.find(([name]) => name[0] === "y");
    const columns = x && state.now.plot.panels[panelOf(x[0])];
    if (columns) send("rows", { rows: { kind: "box", columns, x: values(x), y: y ? values(y) : null } });
  }

  function values([name, range]) {
    const shown = (state.now.plot.layout[`${name[0]}axis${name.slice(1)}`]) || {};
    return shown.ticktext ? range.map((value) => 10 ** value) : range;
  }

  function clicked(event) {
    const point = event.points[0];
    const columns = state.now.plot.panels[panelOf(point.xaxis._id)];
    if (columns && Number.isFinite(point.x)) send("rows", { rows: { kind: "near", columns, x: values([point.xaxis._id, [point.x]])[0], y: Number(point.y) } });
  }

  // Comparing two fits ----------------------------------------------------------------------------------------------------

  function keep() {
    state.kept = { ...state.now, settings: settings() };
    find("kept").hidden = false;
    find("fits").classList.add("two");
    find("kept-title").textContent = state.kept.title;
    find("kept-numbers").replaceChildren(...numberCards(state.kept.numbers));
    table(find("kept-components"), state.kept.components, state.kept.colours);
    drawKept();
  }

  const drawKept = () => plotted(find("plot-kept"), state.kept.plot, state.kept.colours, state.kept.plot.view);

  function forget() {
    state.kept = null;
    find("kept").hidden = true;
    find("fits").classList.remove("two");
    Plotly.purge(find("plot-kept"));
    find("keep").focus();
  }

  // Connection ------------------------------------------------------------------------------------------------------------

  function connect() {
    socket = new WebSocket(address);
    socket.onmessage = (event) => answered(JSON.parse(event.data));
    socket.onclose = () => {
      root.classList.add("lost");
      find("status").textContent = "Not connected.";
      find("lost").hidden = false;
      find("lost").textContent = "The server has stopped: start kmle explore again. What is shown is the last fit.";
    };
  }

  async function copy(button) {
    const words = find(button.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(words); }
    catch {
      const range = document.createRange();
      range.selectNodeContents(find(button.dataset.copy));
      getSelection().removeAllRanges(); getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1200);
  }

  function drawAll() {
    root.dataset.theme = kmleDrawing.side();
    if (!state.now) return;
    drawn.now = state.now;
    drawNow();
    drawCheck();
    if (state.kept) { drawKept(); kmleDrawing.badges(find("kept"), state.kept.colours); }
    if (state.comparison) plotted(find("plot-compare"), state.comparison.views[0], state.comparison.colours, "compare");
    ["diagnostics", "rows"].forEach((id) => kmleDrawing.badges(find(id), state.now.colours));
  }

  // Events ------------------------------------------------------------------------------------------------------------------

  find("controls").addEventListener("submit", (event) => event.preventDefault());
  find("k").addEventListener("input", () => { find("k-number").value = find("k").value; ask(); });
  find("k-number").addEventListener("change", () => { setComponents(Number(find("k-number").value)); ask(); });
  find("columns").addEventListener("change", () => {
    state.chosen = [...document.querySelectorAll("#columns input:checked")].map((box) => box.value);
    ask();
  });
  find("all-columns").addEventListener("click", () => choose(state.controls.columns.map(({ name }) => name)));
  find("no-column").addEventListener("click", () => choose([]));
  // The column that says where values are censored is not one of the values.
  find("censoring").addEventListener("change", () => {
    const column = find("censoring").value.replace(/^[a-z]+:/, "");
    choose(state.chosen.filter((name) => name !== column));
  });
  find("family").addEventListener("change", () => { afterFamily(); ask(); });
  find("fixed").addEventListener("change", () => ask());
  ["structure", "prior", "noise", "labels", "seed"].forEach((id) => find(id).addEventListener("change", () => ask()));
  document.querySelectorAll('input[type="radio"]').forEach((radio) => radio.addEventListener("change", () => ask()));
  find("view").addEventListener("change", () => { state.view = find("view").value; ask(); });
  find("check-kind").addEventListener("change", drawCheck);
  find("check-column").addEventListener("change", drawCheck);
  find("rows-kind").addEventListener("change", showRows);
  find("row-show").addEventListener("click", () => send("rows", { rows: { kind: "row", row: Number(find("row-number").value) } }));
  find("keep").addEventListener("click", keep);
  find("forget").addEventListener("click", forget);
  find("restore").addEventListener("click", () => { state.view = state.kept.plot.view; show(state.kept.settings); ask(true); });
  find("compare").addEventListener("click", () => {
    comparing(true);
    find("compare-table").replaceChildren();
    const question = { families: find("compare-families").value, most: Number(find("compare-most").value), criterion: find("compare-criterion").value };
    send("compare", { settings: settings(), question });
  });
  find("cancel").addEventListener("click", () => {
    send("cancel", {});
    state.compare = 0;
    comparing(false);
    find("compare-note").textContent = "Cancelled. " + find("compare-note").textContent;
  });
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button)));
  document.querySelectorAll("[data-export]").forEach((button) => button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = `export/${state.page}/${button.dataset.export}`;
    link.download = "";
    link.click();
  }));
  find("save-plot").addEventListener("click", () => Plotly.downloadImage(find("plot-now"), { format: "png", scale: 2, filename: "mixture" }));
  find("theme").addEventListener("click", () => { kmleDrawing.choose(kmleDrawing.side() === "dark" ? "light" : "dark"); drawAll(); });
  kmleDrawing.darkSide.addEventListener("change", drawAll);
  // Titles, legends and margins are laid out for a width: at another one plots are drawn again.
  let width = 0, resized = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const first = width === 0;
    if (contentRect.width === width) return;
    width = contentRect.width;
    clearTimeout(resized);
    if (!first) resized = setTimeout(drawAll, 150);
  }).observe(find("plot-now"));
  document.addEventListener("toggle", (event) => reachable(event.target), true);
  // Beside the fit, settings are always open; above it, they can be closed.
  const beside = window.matchMedia("(min-width: 62rem)");
  const fold = () => { find("more").open = beside.matches; };
  beside.addEventListener("change", fold);
  fold();
  root.dataset.theme = kmleDrawing.side();
  Plotly.newPlot(find("plot-now"), [], { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", xaxis: { visible: false }, yaxis: { visible: false } }, { displayModeBar: false, responsive: true })
    .then(() => { find("plot-now").on("plotly_selected", selected); find("plot-now").on("plotly_click", clicked); connect(); });
})();
