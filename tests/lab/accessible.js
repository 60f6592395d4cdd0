/** What is wrong with the page on the screen, by rules that can be computed. @returns {string[]} */
() => {
  const found = [];
  const tell = (rule, node) => found.push(`${rule}: ${node.outerHTML.slice(0, 120)}`);
  const seen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const all = [...document.querySelectorAll("body *")].filter(seen);

  for (const node of all.filter((each) => each.matches("button, input, select, textarea, a, canvas, [role=tab]"))) {
    const labels = [...(node.labels ?? [])].map((label) => label.textContent).join("");
    const name = node.getAttribute("aria-label") || node.textContent.trim() || labels;
    if (!name && !node.closest("[aria-hidden=true]")) tell("no name", node);
  }
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  ids.filter((id, k) => ids.indexOf(id) !== k).forEach((id) => found.push(`twice: ${id}`));
  for (const key of ["aria-labelledby", "aria-controls", "aria-describedby", "for"]) {
    for (const node of document.querySelectorAll(`[${key}]`)) {
      for (const id of node.getAttribute(key).split(" ")) if (!document.getElementById(id)) tell(`${key} leads nowhere`, node);
    }
  }
  for (const node of all.filter((each) => each.matches("[aria-hidden=true]"))) {
    for (const inner of node.querySelectorAll("button, input, select, a[href], [tabindex='0']")) {
      if (seen(inner)) tell("hidden, but focusable", inner);
    }
  }
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  if (!document.documentElement.lang || !document.title) found.push("no language or title");

  // colours as the browser computed them: rgb(1, 2, 3), rgba(1, 2, 3, 0.5), color(srgb 0.1 0.2 0.3 / 0.5)
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return { rgb: text.startsWith("color(") ? [r, g, b].map((value) => 255 * value) : [r, g, b], a };
  };
  const over = (top, below) => top.rgb.map((value, k) => top.a * value + (1 - top.a) * below[k]);
  const ground = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const landmarks = "header, main, footer, nav, aside, section[aria-label], dialog, [role=alert], [role=status]";
  for (const node of all) {
    const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!text || node.closest(":disabled, .unseen, .skip, canvas, noscript, .toast, option")) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(node);
    const under = ground(node);
    const [high, low] = [light(over(parse(color), under)), light(under)].sort((p, q) => q - p);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) tell(`contrast ${ratio.toFixed(2)}`, node);
    if (!node.closest(landmarks)) tell("outside of landmarks", node);
  }
  return found;
}
