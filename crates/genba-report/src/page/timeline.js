// Zoom of the timeline of threads. Without this script it is a static picture of the whole.
(() => {
  const root = document.querySelector(".timeline");
  if (!root) return;
  const svg = root.querySelector(".spans");
  const area = root.querySelector(".time");
  const status = root.querySelector("output");
  const axis = root.querySelector(".axis");
  const [earlier, later, closer, wider, reset] = root.querySelectorAll("button");
  const [, , cells, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const wall = parseFloat(axis.title);
  axis.title = "";
  const lanes = root.querySelectorAll(".names div");
  const words = {};
  for (const one of root.querySelectorAll(".legend span"))
    words[one.querySelector("pattern").getAttribute("class")] = one.textContent.trim();
  const hint = status.textContent;
  for (const el of [earlier, later, closer, wider, reset]) el.hidden = false;
  const patterns = svg.querySelectorAll("pattern");
  const tips = svg.querySelectorAll(".tip path");
  const least = 20; // cells
  let from = 0;
  let width = cells;

  const unit = (seconds, range) => {
    const [scale, name] = range < 2e-4 ? [1e6, "µs"] : range < 0.2 ? [1e3, "ms"] : [1, "s"];
    const digits = Math.max(0, Math.ceil(-Math.log10(range * scale)) + 2);
    return (seconds * scale).toFixed(digits) + " " + name;
  };
  const seconds = (cell) => (cell / cells) * wall;

  // Shows `wanted` cells from `begin`.
  function show(begin, wanted) {
    width = Math.min(cells, Math.max(least, wanted));
    from = Math.min(cells - width, Math.max(0, begin));
    svg.setAttribute("viewBox", from + " 0 " + width + " " + height);
    const scale = width / Math.max(1, svg.clientWidth);
    for (const one of patterns)
      one.setAttribute("patternTransform", "translate(" + from + " 0) scale(" + scale + " 1)");
    for (const one of tips) one.setAttribute("transform", "scale(" + scale + " 1)");
    // Arrows of shorter waits appear as there is room for them.
    svg.dataset.detail = width > cells / 4 ? 0 : width > cells / 30 ? 1 : 2;
    const labels = axis.children;
    for (let i = 0; i < labels.length; i++)
      labels[i].textContent = unit(seconds(from + (width * i) / (labels.length - 1)), seconds(width));
    earlier.disabled = from <= 0;
    later.disabled = from >= cells - width;
    reset.disabled = wider.disabled = width >= cells;
    closer.disabled = width <= least;
  }
  const zoom = (factor, at) => show(at - (at - from) * factor, width * factor);
  const middle = () => from + width / 2;
  const move = (share) => show(from + share * width, width);

  const cellAt = (event) => {
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left) / Math.max(1, box.width);
    return from + Math.min(1, Math.max(0, share)) * width;
  };

  // The piece under the pointer, read from the line that draws it.
  function say(event) {
    const arrow = event.target.closest(".arrows path");
    if (arrow) {
      status.textContent = arrow.textContent;
      return;
    }
    const path = event.target.closest(".spans > path");
    if (!path) {
      status.textContent = hint;
      return;
    }
    const at = cellAt(event);
    const lane = Math.floor(((event.clientY - svg.getBoundingClientRect().top) / height) * lanes.length);
    const name = lanes[Math.min(lanes.length - 1, Math.max(0, lane))].title;
    for (const piece of path.getAttribute("d").matchAll(/M(\d+) \d+h(\d+)/g)) {
      const begin = Number(piece[1]);
      const length = Number(piece[2]);
      if (at < begin || at > begin + length) continue;
      const what = words[path.getAttribute("class")];
      const lasts = unit(seconds(length), seconds(length));
      status.textContent = what + " " + lasts + " at " + unit(seconds(begin), seconds(width)) + ": " + name;
      return;
    }
  }

  let range = null;
  let start = 0;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    start = event.clientX;
    range = document.createElement("div");
    range.className = "range";
    area.append(range);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!range) return say(event);
    const box = svg.getBoundingClientRect();
    const end = Math.min(box.right, Math.max(box.left, event.clientX));
    range.style.left = Math.min(start, end) - box.left + "px";
    range.style.width = Math.abs(end - start) + "px";
  });
  const release = (event) => {
    if (!range) return;
    range.remove();
    range = null;
    if (event.type === "pointercancel" || Math.abs(event.clientX - start) < 4) return;
    const [a, b] = [cellAt({ clientX: start }), cellAt(event)];
    show(Math.min(a, b), Math.abs(b - a));
  };
  svg.addEventListener("pointerup", release);
  svg.addEventListener("pointercancel", release);
  svg.addEventListener("pointerleave", () => {
    if (!range) status.textContent = hint;
  });
  svg.addEventListener("dblclick", (event) => zoom(0.5, cellAt(event)));
  svg.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
      if (event.ctrlKey) zoom(event.deltaY < 0 ? 0.8 : 1.25, cellAt(event));
      else if (sideways) move(sideways / 1000);
      else return;
      event.preventDefault();
    },
    { passive: false },
  );
  const keys = {
    "+": () => zoom(0.5, middle()),
    "=": () => zoom(0.5, middle()),
    "-": () => zoom(2, middle()),
    ArrowLeft: () => move(-0.2),
    ArrowRight: () => move(0.2),
    Home: () => show(0, width),
    End: () => show(cells, width),
    Escape: () => show(0, cells),
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    act();
    event.preventDefault();
  });
  earlier.addEventListener("click", keys.ArrowLeft);
  later.addEventListener("click", keys.ArrowRight);
  closer.addEventListener("click", keys["+"]);
  wider.addEventListener("click", keys["-"]);
  reset.addEventListener("click", keys.Escape);
  window.addEventListener("resize", () => show(from, width));
  show(0, cells);
})();
