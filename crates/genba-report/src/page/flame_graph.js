// Zoom, search and tooltips of the flame graph. Without this script it is a static graph.
"use strict";
for (const root of document.querySelectorAll(".flame")) {
  const frames = [...root.querySelectorAll("svg.f")].map((el) => ({
    el,
    x: parseFloat(el.getAttribute("x")),
    w: parseFloat(el.getAttribute("width")),
    y: parseFloat(el.getAttribute("y")),
    title: el.querySelector("title").textContent,
  }));
  const status = root.querySelector("output");
  const search = root.querySelector("input");
  const reset = root.querySelector("button");
  for (const el of [search, reset]) el.hidden = false;
  const near = 1e-4; // percent; positions are written with four decimals
  let summary = "";

  // Shows `to` over the whole width; its callers below it are drawn at full width.
  function zoom(to) {
    const scale = 100 / to.w;
    for (const f of frames) {
      const under = f.x <= to.x + near && f.x + f.w >= to.x + to.w - near && f.y > to.y;
      const inside = f.x >= to.x - near && f.x + f.w <= to.x + to.w + near && f.y <= to.y;
      f.el.style.display = under || inside ? "" : "none";
      f.el.style.opacity = under ? 0.55 : 1;
      f.el.setAttribute("x", under ? "0%" : (f.x - to.x) * scale + "%");
      f.el.setAttribute("width", under ? "100%" : f.w * scale + "%");
    }
    reset.disabled = to.w > 100 - near;
    if (!reset.disabled) to.el.scrollIntoView({ block: "nearest" });
  }

  // Marks the frames whose name contains the text and shows their share of the time; frames
  // within a marked frame are not counted again.
  function find(text) {
    const wanted = text.toLowerCase();
    const hits = [];
    for (const f of frames) {
      const hit = wanted !== "" && f.title.toLowerCase().includes(wanted);
      f.el.classList.toggle("hit", hit);
      if (hit) hits.push(f);
    }
    hits.sort((a, b) => b.y - a.y || a.x - b.x);
    const counted = [];
    let sum = 0;
    for (const f of hits) {
      if (counted.some((c) => f.x >= c.x - near && f.x + f.w <= c.x + c.w + near)) continue;
      counted.push(f);
      sum += f.w;
    }
    summary = wanted === "" ? "" : sum.toFixed(1) + " % of the time is in or above these frames";
    status.textContent = summary;
  }

  const widest = frames.reduce((a, b) => (b.w > a.w || (b.w === a.w && b.y > a.y) ? b : a));
  const under = (event) => {
    const el = event.target.closest("svg.f");
    return el && frames.find((f) => f.el === el);
  };
  root.addEventListener("click", (event) => {
    const f = under(event);
    if (f) zoom(f);
  });
  root.addEventListener("mouseover", (event) => {
    const f = under(event);
    status.textContent = f ? f.title : summary;
  });
  root.addEventListener("focusin", (event) => {
    const f = under(event);
    if (f) status.textContent = f.title;
  });
  root.addEventListener("keydown", (event) => {
    const f = under(event);
    if (event.key === "Enter" && f) zoom(f);
    if (event.key === "Escape") {
      search.value = "";
      find("");
      zoom(widest);
    }
  });
  search.addEventListener("input", () => find(search.value));
  reset.addEventListener("click", () => zoom(widest));
  reset.disabled = true;
  // Frames that are wide enough to be read can be reached with the keyboard.
  for (const f of frames) if (f.w >= 2) f.el.setAttribute("tabindex", "0");
}
