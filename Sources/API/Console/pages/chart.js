// Charts: notifications by hour, and the numbers of a report by period.

import { count, dot, h, minute, s } from "./draw.js";

const hour = 3600000;
const total = (list) => list.reduce((sum, item) => sum + item.count, 0);

/// - series: [name, tone, items], from the bottom up.
/// - choose: called with the beginning of the hour that was clicked.
export function hours(holder, data, series, choose) {
  const width = Math.max(240, holder.clientWidth);
  const height = 190;
  const starts = Array.from({ length: data.hours }, (_, at) => data.from + at * hour);
  const stacks = starts.map((start) => series.map(([name, tone, items]) => [name, tone,
    total(items.filter((item) => item.hour === start))]));
  const sums = stacks.map((stack) => stack.reduce((sum, part) => sum + part[2], 0));
  const [top, step] = scale(Math.max(1, ...sums));
  const left = 12 + 7 * count(top).length;
  const y = (value) => height - height * value / top;
  const slot = (width - left) / starts.length;
  const gap = slot > 8 ? 2.5 : slot > 4 ? 1 : 0.5;
  const picture = s("svg", { viewBox: `0 0 ${width} ${height + 26}`, height: height + 26,
    role: "img", "aria-label": `${count(sums.reduce((a, b) => a + b, 0))} in ${data.hours} hours; ` +
      "the table below has every number" });
  for (let value = 0; value <= top; value += step) {
    picture.append(s("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }),
      s("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, count(value)));
  }
  const every = [1, 2, 3, 6, 12, 24].find((it) => (starts.length / it) * 46 < width) ?? 24;
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  stacks.forEach((stack, at) => {
    const x = left + at * slot;
    let base = 0;
    for (const [, tone, value] of stack) {
      if (!value) continue;
      picture.append(s("rect", { class: `fill ${tone}`, x: x + gap / 2,
        width: Math.max(0.7, slot - gap), y: y(base + value),
        height: Math.max(0.7, y(base) - y(base + value) - (base ? 0.8 : 0)),
        rx: slot > 8 ? 1.5 : 0 }));
      base += value;
    }
    const date = new Date(starts[at]);
    const clock = date.getUTCHours();
    if (clock % every === 0) {
      const text = clock === 0 ? `${date.getUTCDate()} ${
        date.toLocaleString("en-GB", { month: "short", timeZone: "UTC" })}`
        : `${String(clock).padStart(2, "0")}:00`;
      picture.append(s("text", { x: x + slot / 2, y: height + 18, "text-anchor": "middle" }, text));
    }
    const show = () => {
      tip.replaceChildren(h("b", {}, minute(starts[at])), h("ul", {},
        stack.filter((part) => part[2]).map(([name, tone, value]) => h("li", {}, dot(tone), name,
          h("span", { class: "num" }, count(value))))), sums[at] ? "" : "none");
      tip.hidden = false;
      const share = (x + slot / 2) / width;
      tip.style.left = share < 0.6 ? `calc(${100 * share}% + 14px)` : "auto";
      tip.style.right = share < 0.6 ? "auto" : `calc(${100 * (1 - share)}% + 14px)`;
      tip.style.top = "8px";
    };
    picture.append(s("rect", { class: "hit", x, y: 0, width: slot, height, onpointerenter: show,
      onpointerleave: () => { tip.hidden = true; }, onclick: () => choose(starts[at]) }));
  });
  holder.replaceChildren(picture, tip);
}

/// - bars: [label, number], also below zero.
export function columns(holder, bars, what) {
  const width = Math.max(240, holder.clientWidth);
  const height = 190;
  const values = bars.map(([, value]) => value);
  const [top, step] = scale(Math.max(1, ...values));
  const low = Math.min(0, ...values);
  const bottom = low < 0 ? -Math.ceil(-low / step) * step : 0;
  const left = 12 + 7 * Math.max(count(top).length, count(bottom).length);
  const y = (value) => height * (top - value) / (top - bottom);
  const slot = (width - left) / bars.length;
  const every = Math.ceil(76 / slot);
  const picture = s("svg", { viewBox: `0 0 ${width} ${height + 26}`, height: height + 26,
    role: "img", "aria-label": `${what}, ${bars[0][0]} to ${bars.at(-1)[0]}; ` +
      "the table below has every number" });
  for (let value = bottom; value <= top; value += step) {
    picture.append(s("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }),
      s("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, count(value)));
  }
  bars.forEach(([label, value], at) => {
    const x = left + at * slot;
    picture.append(s("rect", { class: "fill blue", x: x + 1, width: Math.max(0.7, slot - 2),
      y: y(Math.max(0, value)), height: Math.abs(y(0) - y(value)) },
    s("title", {}, `${label}: ${count(value)}`)));
    if (at % every === 0) {
      picture.append(s("text", { x: x + slot / 2, y: height + 18, "text-anchor": "middle" },
        label));
    }
  });
  holder.replaceChildren(picture);
}

/// The top of an axis and the step of its grid lines: whole numbers, 1, 2 or 5 times a power of ten.
function scale(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = Math.max(1, [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough));
  return [Math.ceil(most / step) * step, step];
}
