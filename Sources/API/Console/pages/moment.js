// A timeline with a slider that chooses a moment, and what holds at each.

import { each } from "./api.js";
import { day, exact, h } from "./draw.js";
import { chart } from "./timeline.js";

const steps = 1000;

/// Draws the chart and its slider into a section.
/// - view: { events, paid, lanes, range, now, asOf }; asOf is null for now.
/// - page.tell(moment): shows the moment, null for now, as far as it is known, and returns its words.
/// - page.confirm(moment): asks for the moment and returns its words; `isShown` says whether it is
///   still the chosen one.
/// - page.choose(event): an event of the chart was clicked.
/// - page.list: the lines of events, of which those after the moment are shown paler.
export function drawTimeline(section, view, page) {
  const [first, last] = view.range;
  const holder = h("div", { class: "timeline" });
  const shown = h("output", { for: "moment", id: "moment-text" });
  const range = h("input", { type: "range", id: "moment", min: 0, max: steps, value: 0,
    "aria-label": "As of" });
  const stops = [...new Set(view.events.map((it) => it.signed_date).filter((it) => it !== null))]
    .sort((a, b) => a - b);
  let drawing = null;
  let waiting = 0;
  const redraw = () => {
    const width = Math.max(260, section.clientWidth - (window.innerWidth > 760 ? 46 : 34));
    drawing = chart({ ...view, asOf: view.asOf ?? view.now, width, choose: page.choose });
    holder.replaceChildren(drawing.svg);
  };
  const tell = (words) => {
    if (words === undefined) return;
    const time = view.asOf;
    shown.textContent = time === null ? `Now: ${words}` : `As of ${exact(time)}: ${words}`;
    range.setAttribute("aria-valuetext", shown.textContent);
    for (const item of page.list.querySelectorAll("[data-time]")) {
      item.classList.toggle("future", time !== null && Number(item.dataset.time) > time);
    }
  };
  const set = (time, isExact) => {
    view.asOf = time;
    const at = time ?? view.now;
    drawing.move(at);
    if (!isExact) range.value = Math.round(steps * (at - first) / (last - first));
    // What holds since the last breakpoint is shown at once, and then confirmed by the daemon.
    const guess = page.tell(time);
    tell(guess);
    clearTimeout(waiting);
    if (time === null) return;
    const isShown = () => view.asOf === time && section.isConnected;
    waiting = setTimeout(async () => {
      const words = await page.confirm(time, isShown);
      if (isShown()) tell(words);
    }, guess === undefined ? 0 : 120);
  };
  const step = (way) => {
    const at = view.asOf ?? view.now;
    const stop = way > 0 ? stops.find((it) => it > at) : stops.findLast((it) => it < at);
    if (stop !== undefined) set(stop);
    else if (way > 0) set(null);
  };
  range.addEventListener("input", () => set(Math.round(first + (last - first) *
    range.valueAsNumber / steps), true));
  const button = (id, name, label, action) => h("button", { type: "button", id,
    "aria-label": label, onclick: action }, name);
  section.replaceChildren(h("div", { class: "head" }, h("h2", { id: "h-timeline" },
    "Timeline"), h("span", { class: "soft small" }, `${day(Math.max(first, 0))} to ${day(last)}`)),
  holder, h("div", { class: "when" }, range, h("div", { class: "line" }, shown,
    h("input", { type: "datetime-local", id: "at", "aria-label": "A moment, UTC", onchange: (event) => {
      const at = Date.parse(`${event.target.value}Z`);
      if (!Number.isNaN(at)) set(Math.min(Math.max(at, first), last));
    } }),
    button("earlier", "← Previous", "Previous event", () => step(-1)),
    button("later", "Next →", "Next event", () => step(1)),
    button("now", "Now", null, () => set(null)))));
  redraw();
  set(null);
  return { draw: redraw };
}

/// Asks what holds at each of these times; between two of them it stays the same. With more times
/// than `most`, only every n-th is asked for.
/// - Returns [{ from, to, value }]; neighbours with the same `kind(value)` are one.
export async function measure(every, most, end, at, kind, isShown) {
  const step = Math.ceil(every.length / most);
  const times = every.filter((_, index) => index % step === 0);
  const answers = await each(times, (time) => (isShown() ? at(time).catch(() => null) : null));
  return times.map((from, index) => ({ from, to: times[index + 1] ?? end,
    value: answers[index] })).reduce((band, part) => {
    const last = band.at(-1);
    if (last && kind(last.value) === kind(part.value)) last.to = part.to;
    else band.push({ ...part });
    return band;
  }, []);
}
