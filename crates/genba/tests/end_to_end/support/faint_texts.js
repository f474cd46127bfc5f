// Texts of the page whose contrast with what is behind them is less than WCAG 2.1 asks for at level AA: 4.5, or 3 for large
// text. A text that is disabled, or not shown, needs none.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const mixed = (one, other, share) => [0, 1, 2].map((i) => one[i] * share + other[i] * (1 - share)).concat(1);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  // What is behind an element's text, and behind the element.
  const grounds = (el) => {
    if (!el) return { behind: dark ? [18, 18, 18, 1] : [255, 255, 255, 1], inside: dark ? [18, 18, 18, 1] : [255, 255, 255, 1] };
    const behind = grounds(el.parentElement).inside;
    const style = getComputedStyle(el);
    // The rectangle of a frame is its ground.
    const rect = el.matches("svg.f > text, svg g > text") ? el.parentElement.querySelector("rect") : null;
    const own = over(colour(rect ? getComputedStyle(rect).fill : style.backgroundColor), behind);
    return { behind, inside: mixed(own, behind, Number(style.opacity)) };
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const el = walker.currentNode.parentElement;
    if (!text || el.closest("script, style, title, option, :disabled") || !el.checkVisibility({ opacityProperty: true })) continue;
    const style = getComputedStyle(el);
    const svg = el instanceof SVGElement;
    const { behind, inside } = grounds(el);
    const opacity = Number(style.opacity);
    const ink = mixed(over(colour(svg ? style.fill : style.color), inside), behind, opacity);
    const [a, b] = [light(ink), light(inside)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      const key = el.tagName + "." + (el.getAttribute("class") || "") + " in " + (el.parentElement.getAttribute("class") || el.parentElement.tagName);
      if (!found.has(key)) found.set(key, key + ": " + ratio.toFixed(2) + " " + text.slice(0, 40));
    }
  }
  return [...found.values()];
})();
