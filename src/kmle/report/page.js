"use strict";
(() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const root = document.documentElement;
  const chosen = {};

  function draw(place) {
    const key = place.dataset.panel;
    const figure = content.panels[key][chosen[key] || 0];
    place.closest("figure").querySelector(".view-note").textContent = figure.note;
    return kmleDrawing.draw(place, figure, content, `view ${chosen[key] || 0}`);
  }

  function drawAll() {
    root.dataset.theme = kmleDrawing.side();
    kmleDrawing.badges(document, content);
    return Promise.all([...document.querySelectorAll(".plot")].map(draw));
  }

  document.querySelectorAll("select[data-for]").forEach((list) => {
    list.addEventListener("change", () => {
      chosen[list.dataset.for] = Number(list.value);
      draw(document.getElementById(`plot-${list.dataset.for}`));
    });
  });
  document.getElementById("theme").addEventListener("click", () => {
    kmleDrawing.choose(kmleDrawing.side() === "dark" ? "light" : "dark");
    drawAll();
  });
  kmleDrawing.darkSide.addEventListener("change", drawAll);
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
  window.addEventListener("beforeprint", () => { before = kmleDrawing.chosenSide(); kmleDrawing.choose("light"); root.dataset.print = "yes"; drawAll(); });
  window.addEventListener("afterprint", () => { kmleDrawing.choose(before); delete root.dataset.print; drawAll(); });
  drawAll().then(() => { root.dataset.drawn = "yes"; });
})();
