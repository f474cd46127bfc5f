// Zoom of the plots of series: drag a range, double-click shows all. Without this script the plots are static.
(() => {
  for (const plot of document.querySelectorAll(".series")) {
    const svg = plot.querySelector("svg");
    const status = plot.querySelector("output");
    const hint = status.textContent;
    const points = [...svg.querySelectorAll("circle")];
    const values = points.map((one) => one.cy.baseVal.value);
    const [, , count, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    let start = null;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const view = svg.viewBox.baseVal;
      return view.x + ((event.clientX - box.left) / Math.max(1, box.width)) * view.width;
    };
    const show = (from, to) => {
      const width = Math.max(4, to - from);
      let low = height;
      let high = 0;
      points.forEach((one, index) => {
        const x = one.cx.baseVal.value;
        if (x < from || x > from + width) return;
        low = Math.min(low, values[index]);
        high = Math.max(high, values[index]);
      });
      if (low > high) [low, high] = [0, height];
      const margin = Math.max((high - low) * 0.1, height * 0.002);
      svg.setAttribute("viewBox", from + " " + (low - margin) + " " + width + " " + (high - low + 2 * margin));
    };
    const nearest = (event) => {
      const x = at(event);
      let best = null;
      for (const one of points)
        if (!best || Math.abs(one.cx.baseVal.value - x) < Math.abs(best.cx.baseVal.value - x)) best = one;
      return best;
    };
    svg.addEventListener("pointerdown", (event) => (start = at(event)));
    svg.addEventListener("pointerup", (event) => {
      const end = at(event);
      if (start !== null && Math.abs(end - start) > svg.viewBox.baseVal.width / 50)
        show(Math.min(start, end), Math.max(start, end));
      start = null;
    });
    svg.addEventListener("dblclick", () => svg.setAttribute("viewBox", "0 0 " + count + " " + height));
    svg.addEventListener("pointermove", (event) => {
      const one = nearest(event);
      status.textContent = one ? one.textContent : hint;
    });
    svg.addEventListener("pointerleave", () => (status.textContent = hint));
  }
})();
