// The pages of `genba case serve`: filters, the explorer, progress. Names from cases are only ever set as text.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, name) => {
    const el = document.createElement(tag);
    if (text !== undefined) el.textContent = text;
    if (name) el.className = name;
    return el;
  };
  const percent = (share) => (100 * share).toFixed(share < 0.1 ? 2 : 1) + " %";
  const seconds = (s) => {
    const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
    const [unit, name] = units.find(([size]) => s >= size) || units[3];
    return (s / unit).toPrecision(3) + " " + name;
  };

  // The list of cases.
  const filter = document.querySelector("form[data-filter]");
  if (filter) {
    const rows = [...document.querySelectorAll("#cases tbody tr")];
    const status = filter.querySelector("output");
    const apply = () => {
      const text = filter.elements.text.value.toLowerCase();
      const kind = filter.elements.kind.value;
      let shown = 0;
      for (const row of rows) {
        const fits = (!kind || row.dataset.kind === kind) && row.textContent.toLowerCase().includes(text);
        row.hidden = !fits;
        if (fits) shown++;
      }
      status.textContent = shown === rows.length ? "" : shown + " of " + rows.length;
    };
    filter.addEventListener("input", apply);
    filter.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = byId(button.dataset.copy).textContent;
      try {
        await navigator.clipboard.writeText(text);
        byId("copied").textContent = "copied";
      } catch {
        const range = document.createRange();
        range.selectNodeContents(byId(button.dataset.copy));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        byId("copied").textContent = "selected; copy with Ctrl-C";
      }
    });
  }

  // A case in progress.
  const progress = document.querySelector("#progress[data-events]");
  if (progress) {
    const source = new EventSource(progress.dataset.events);
    source.addEventListener("progress", (event) => {
      const now = JSON.parse(event.data);
      byId("runs").textContent = now.runs;
      const body = progress.tBodies[0];
      body.replaceChildren(...now.variants.map((one) => {
        const row = make("tr");
        row.append(make("td", one.name, "l name"), make("td", one.runs), make("td", one.median || ""));
        return row;
      }));
      if (!now.running) {
        source.close();
        location.reload();
      }
    });
  }

  const explorer = byId("explorer");
  if (explorer) {
    fetch(explorer.dataset.profile)
      .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error("no profile"))))
      .then((profile) => {
        byId("function-section").hidden = !profile.functions.length;
        functions(profile);
        flame(profile);
        document.body.dataset.ready = "yes";
      })
      .catch(() => {
        byId("flame-status").textContent = "this case has no profile";
      });
  }

  // All functions, sorted by a column and filtered by text; rows beyond the first are drawn as they are asked for.
  function functions(profile) {
    const columns = [
      { name: "self", of: (f) => f[3], show: (f) => percent(f[3]) },
      { name: "±", of: (f) => f[4], show: (f) => (100 * f[4]).toFixed(1) },
      { name: "total", of: (f) => f[5], show: (f) => (f[5] === null ? "" : percent(f[5])) },
      { name: "function", of: (f) => f[0], show: (f) => f[0], left: true },
      { name: "source", of: (f) => f[2] || "", show: (f) => f[2] || "", left: true },
      { name: "module", of: (f) => f[1], show: (f) => f[1], left: true },
      { name: "calls", of: (f) => f[6], show: (f) => (f[6] === null ? "" : f[6].toLocaleString("en")) },
      { name: "each", of: (f) => f[7], show: (f) => (f[7] === null ? "" : seconds(f[7])) },
    ].filter((column) => column.left || profile.functions.some((f) => column.of(f) !== null));
    profile.functions.forEach((f, index) => (f.index = index));
    const table = byId("functions");
    const status = byId("function-status");
    let by = columns[0];
    let down = true;
    let limit = 200;
    const heads = columns.map((column) => {
      const head = make("th", undefined, column.left ? "l" : "");
      const button = make("button", column.name);
      button.type = "button";
      button.addEventListener("click", () => {
        down = by === column ? !down : !column.left;
        by = column;
        draw();
      });
      head.append(button);
      return head;
    });
    table.tHead.rows[0].replaceChildren(...heads);
    const more = make("button", "more");
    more.type = "button";
    more.addEventListener("click", () => {
      limit += 1000;
      draw();
    });
    function draw() {
      const text = byId("function-filter").value.toLowerCase();
      const fits = (f) => text === "" || [f[0], f[1], f[2] || ""].some((part) => part.toLowerCase().includes(text));
      const found = profile.functions.filter(fits);
      const order = (a, b) => {
        const [x, y] = [by.of(a), by.of(b)];
        if (x === y) return 0;
        if (x === null) return 1;
        if (y === null) return -1;
        return (x < y ? -1 : 1) * (down ? -1 : 1);
      };
      found.sort(order);
      heads.forEach((head, index) => {
        const chosen = columns[index] === by;
        head.setAttribute("aria-sort", chosen ? (down ? "descending" : "ascending") : "none");
        head.firstChild.textContent = columns[index].name + (chosen ? (down ? " ↓" : " ↑") : "");
      });
      table.tBodies[0].replaceChildren(...found.slice(0, limit).map((f) => {
        const row = make("tr");
        for (const column of columns) {
          const cell = make("td", column.show(f), column.left ? "l name" : "");
          // The kernel's code cannot be shown.
          if (column.name === "source" && !f[8]) {
            const code = make("a", f[2] || "code");
            code.href = "function/" + f.index;
            code.setAttribute("aria-label", "code of " + f[0]);
            cell.replaceChildren(code);
          }
          if (column.name === "function" && profile.graphs.length) {
            const button = make("button", f[0], "plain");
            button.type = "button";
            button.title = "callees and callers of this function";
            button.addEventListener("click", () => dispatchEvent(new CustomEvent("focus-function", { detail: f[0] })));
            cell.replaceChildren(button);
          }
          row.append(cell);
        }
        return row;
      }));
      status.textContent = found.length + " of " + profile.functions.length + " functions";
      if (found.length > limit) status.after(more);
      else more.remove();
    }
    byId("function-filter").addEventListener("input", () => {
      limit = 200;
      draw();
    });
    draw();
  }

  // The flame graph: frames are buttons, so that they have a name and the keyboard reaches them.
  function flame(profile) {
    const LEVEL = 22;
    const root = byId("flame");
    const status = byId("flame-status");
    const search = byId("flame-search");
    const reset = byId("reset");
    const invert = byId("invert");
    const graphs = profile.graphs.filter((one) => one.frames.length > 1);
    if (!graphs.length) {
      status.textContent = "no call stacks were recorded";
      return;
    }
    // What is drawn: samples, or the wall time of threads where the case has it.
    let graph = graphs[0];
    let waiting = new Set();
    const select = byId("graph");
    graphs.forEach((one, index) => {
      const option = make("option", one.label);
      option.value = index;
      select.append(option);
    });
    byId("graph-label").hidden = graphs.length < 2;
    const straight = () => {
      const nodes = graph.frames.map(([name, parent, weight, own]) => ({ name: graph.names[name], parent, weight, own, waited: 0, children: [] }));
      for (let i = 1; i < nodes.length; i++) nodes[nodes[i].parent].children.push(nodes[i]);
      for (let i = nodes.length - 1; i > 0; i--) {
        if (waiting.has(nodes[i].name)) nodes[i].waited = nodes[i].weight;
        nodes[nodes[i].parent].waited += nodes[i].waited;
      }
      nodes.forEach((node, i) => (node.parent = i ? nodes[node.parent] : null));
      return nodes[0];
    };
    // Each frame's own time, with the frames that led to it upside down.
    const inverted = () => {
      const all = straight();
      const top = { name: all.name, parent: null, weight: all.weight, children: [], known: new Map() };
      const stack = [all];
      while (stack.length) {
        const node = stack.pop();
        stack.push(...node.children);
        if (!node.parent) continue;
        const own = node.own;
        if (!own) continue;
        let at = top;
        for (let from = node; from.parent; from = from.parent) {
          let next = at.known.get(from.name);
          if (!next) {
            next = { name: from.name, parent: at, weight: 0, children: [], known: new Map() };
            at.known.set(from.name, next);
            at.children.push(next);
          }
          next.weight += own;
          at = next;
        }
      }
      return top;
    };
    // The callees of a function, or its callers, of all places in which it is called; where it calls itself, the
    // outermost call counts.
    const around = (name, upwards) => {
      const top = { name, parent: null, weight: 0, children: [], known: new Map() };
      const child = (at, of, weight) => {
        let next = at.known.get(of);
        if (!next) {
          next = { name: of, parent: at, weight: 0, children: [], known: new Map() };
          at.known.set(of, next);
          at.children.push(next);
        }
        next.weight += weight;
        return next;
      };
      const stack = [straight()];
      while (stack.length) {
        const node = stack.pop();
        if (node.name !== name) {
          stack.push(...node.children);
          continue;
        }
        top.weight += node.weight;
        if (upwards) {
          let at = top;
          for (let from = node.parent; from && from.parent; from = from.parent) at = child(at, from.name, node.weight);
        } else {
          const below = node.children.map((callee) => [top, callee]);
          while (below.length) {
            const [at, callee] = below.pop();
            const merged = child(at, callee.name, callee.weight);
            below.push(...callee.children.map((one) => [merged, one]));
          }
        }
      }
      return top;
    };
    let whole = straight();
    let focused = null;
    let callers = null;
    let tree = whole;
    let zoomed = tree;
    // Of a function: its callers above it, its callees below (a sandwich).
    const rebuild = () => {
      tree = focused !== null ? around(focused, false) : invert.checked ? inverted() : whole;
      callers = focused !== null ? around(focused, true) : null;
      invert.disabled = focused !== null;
      const missing = !tree.weight;
      if (missing) {
        focused = callers = null;
        invert.disabled = false;
        tree = invert.checked ? inverted() : whole;
      }
      zoomed = tree;
      draw();
      if (missing) status.textContent = "no listed frame is of this function";
    };
    // Warm on a CPU and blue off it; a frame of both is divided.
    const colour = (node) => {
      let hash = 0;
      for (const c of node.name) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
      const light = " 85% " + (66 + ((hash >>> 8) % 14)) + "%)";
      const [warm, cold] = ["hsl(" + (10 + (hash % 45)) + light, "hsl(" + (200 + (hash % 25)) + light];
      const off = waiting.has(node.name) ? 1 : node.waited === undefined ? 0 : node.waited / node.weight;
      if (off < 0.005) return warm;
      const edge = 100 * (1 - off) + "%";
      return off > 0.995 ? cold : "linear-gradient(90deg, " + warm + " " + edge + ", " + cold + " " + edge + ")";
    };
    // The frame of the tree that each button stands for.
    const nodes = new WeakMap();
    const time = (weight) => (graph.unit === "ns" ? seconds(weight / 1e9) : weight.toLocaleString("en") + " events");
    function draw() {
      const wanted = search.value.toLowerCase();
      const width = root.clientWidth || 1000;
      const placed = [];
      const above = [];
      for (let node = zoomed.parent; node; node = node.parent) above.unshift(node);
      above.forEach((node, level) => placed.push({ node, level, x: 0, w: 1, under: true }));
      // From `from` outwards; `step` is 1 for callees, -1 for the callers of a sandwich.
      const spread = (from, level, step) => {
        const queue = [{ node: from, level, x: 0, w: 1, step }];
        for (let next = 0; next < queue.length && next < 4000; next++) {
          const place = queue[next];
          let x = place.x;
          for (const child of [...place.node.children].sort((a, b) => b.weight - a.weight)) {
            const w = child.weight / from.weight;
            if (w * width >= 1) queue.push({ node: child, level: place.level + step, x, w, step });
            x += w;
          }
        }
        return queue.slice(0, 4000);
      };
      placed.push(...spread(zoomed, above.length, 1));
      if (callers) placed.push(...spread(callers, 0, -1).slice(1));
      const first = Math.min(...placed.map((place) => place.level));
      for (const place of placed) place.level -= first;
      const levels = Math.max(...placed.map((place) => place.level)) + 1;
      root.style.height = levels * LEVEL + "px";
      let marked = 0;
      const held = root.contains(document.activeElement) ? nodes.get(document.activeElement) : null;
      let current = null;
      let next = null;
      root.replaceChildren(...placed.map((place) => {
        const share = place.node.weight / whole.weight;
        const role = place.step === -1 ? "caller " : "";
        // A name of one letter is noise; the label has it.
        const el = make("button", place.w * width > 24 ? place.node.name : "", "frame");
        el.type = "button";
        el.title = place.node.name + ": " + percent(share) + ", " + time(place.node.weight);
        el.setAttribute("role", "treeitem");
        el.setAttribute("aria-level", place.level + 1);
        el.setAttribute("aria-label", role + el.title);
        el.style.left = 100 * place.x + "%";
        el.style.width = "max(1px, calc(" + 100 * place.w + "% - 1px))";
        el.style.top = place.level * LEVEL + "px";
        el.style.background = colour(place.node);
        // One stop of the tab key: arrow keys go on from there.
        el.tabIndex = -1;
        nodes.set(el, place.node);
        if (place.node === zoomed) current = el;
        if (place.node === held) next = el;
        if (place.under) el.classList.add("under");
        if (place.node === tree && callers) el.classList.add("middle");
        if (wanted && place.node.name.toLowerCase().includes(wanted)) {
          el.classList.add("hit");
          let inside = false;
          for (let node = place.node.parent; node; node = node.parent) inside ||= node.name.toLowerCase().includes(wanted);
          if (!inside) marked += share;
        }
        el.addEventListener("click", () => {
          if (callers) {
            dispatchEvent(new CustomEvent("focus-function", { detail: place.node.name }));
            return;
          }
          zoomed = place.node;
          draw();
          choose(place.node.name);
        });
        return el;
      }));
      (next || current).tabIndex = 0;
      if (held) (next || current).focus();
      reset.disabled = zoomed === tree && focused === null;
      const lost = graph.omitted_weight / whole.weight;
      const note = lost > 0.0005 ? percent(lost) + " of the time is in frames too narrow to be listed" : "";
      const what = focused !== null ? "callers of " + focused + " above it, callees below" : "";
      status.textContent = what ? what + (note && "; " + note) : wanted ? percent(marked) + " of the time is in or below the marked frames" : note;
    }
    const choose = (name) => profile.functions.length && (byId("next").textContent = "genba annotate -i " + explorer.dataset.case + " -- " + quoted(name));
    const quoted = (name) => (/^[\w.:~-]+$/.test(name) ? name : "'" + name.replaceAll("'", "'\\''") + "'");
    search.addEventListener("input", draw);
    invert.addEventListener("change", rebuild);
    const show = () => {
      graph = graphs[select.value];
      waiting = new Set(graph.waiting.map((index) => graph.names[index]));
      byId("waiting-note").hidden = !waiting.size;
      whole = straight();
      rebuild();
    };
    select.addEventListener("change", show);
    const back = () => {
      focused = null;
      rebuild();
    };
    reset.addEventListener("click", back);
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !reset.disabled) back();
    });
    addEventListener("focus-function", (event) => {
      focused = event.detail;
      choose(focused);
      rebuild();
      root.scrollIntoView({ block: "nearest" });
    });
    // Arrow keys go to the next frame of a level, or to the nearest one above and below.
    root.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const move = moves[event.key];
      const here = event.target.getBoundingClientRect();
      if (!move || !event.target.classList.contains("frame")) return;
      let best = null;
      let least = Infinity;
      for (const frame of root.children) {
        const box = frame.getBoundingClientRect();
        const levels = Math.round((box.top - here.top) / LEVEL);
        const apart = box.left - here.left;
        const fits = move[1] ? levels === move[1] : levels === 0 && apart * move[0] > 0;
        if (fits && Math.abs(apart) < least) [best, least] = [frame, Math.abs(apart)];
      }
      if (best) best.focus();
      event.preventDefault();
    });
    root.addEventListener("focusin", (event) => {
      for (const frame of root.querySelectorAll('[tabindex="0"]')) frame.tabIndex = -1;
      event.target.tabIndex = 0;
      // Without a pointer there is no tooltip.
      status.textContent = event.target.title;
    });
    // Drawing changes the height.
    let drawn = 0;
    new ResizeObserver(() => {
      if (root.clientWidth !== drawn) draw();
      drawn = root.clientWidth;
    }).observe(root.parentElement);
    show();
  }
})();
