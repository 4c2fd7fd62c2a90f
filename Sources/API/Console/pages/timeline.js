// The chart of one customer's timeline: access, paid periods, notifications, late arrivals. Drawn
// from the payloads in the history and from the row at past times.

import { ago, day, longTime, money, s, span } from "./draw.js";
import { kind } from "./names.js";

const far = 2 * 31557600000;
const number = (value) => {
  const it = Number(value);
  return value === null || value === undefined || value === "" || !Number.isFinite(it) ? null :
    it;
};

/// The paid periods, by transaction; of several notifications about one, the one signed last.
export function periods(events) {
  const found = new Map();
  const add = (id, signed, period) => {
    if (!id || period.from === null) return;
    const known = found.get(id);
    if (!known || known.signed <= signed) found.set(id, { ...period, id, signed });
  };
  for (const event of events) {
    // Evidence is the transaction itself, as an import gives it.
    const paid = event.source === "transaction" ? event.payload
      : event.payload?.data?.signedTransactionInfo;
    if (paid && typeof paid === "object") {
      add(paid.transactionId, event.signed_date, {
        from: number(paid.purchaseDate),
        to: number(paid.expiresDate),
        product: paid.productId,
        revoked: number(paid.revocationDate),
        price: money(number(paid.price), paid.currency),
        offer: paid.offerType ?? null,
      });
    }
    const receipts = event.payload?.unified_receipt?.latest_receipt_info;
    for (const paid of Array.isArray(receipts) ? receipts : []) {
      add(paid.transaction_id, event.signed_date, {
        from: number(paid.purchase_date_ms),
        to: number(paid.expires_date_ms),
        product: paid.product_id,
        revoked: number(paid.cancellation_date_ms),
        price: null,
        offer: null,
      });
    }
  }
  return [...found.values()].sort((a, b) => a.from - b.from);
}

/// When the chart begins and ends, milliseconds since 1970.
export function extent(events, paid, now) {
  const times = [...events.flatMap((it) => [it.signed_date ?? it.received_at, it.received_at]),
      ...paid.flatMap((it) => [it.from, it.to ?? it.from])
    ]
    .filter((time) => time > 1199145600000 && time < now + far);
  const first = Math.min(now - 86400000, ...times);
  // The future gets at most a third of the chart: a year paid for yesterday would fill it.
  const last = Math.min(Math.max(now, ...times), now + Math.max(35 * 86400000, (now - first) /
  2));
  const margin = (last - first) * 0.02;
  return [first - margin, last + margin];
}

/// Times at which the row may change: when something was signed, began or ended.
export function breakpoints(events, paid, rows, [first, last]) {
  const times = new Set();
  for (const event of events) {
    times.add(event.signed_date);
    for (const name of ["expires_at", "grace_period_expires_at", "starts_at", "revoked_at"]) {
      for (const side of ["before", "after"]) times.add(event.changes?.[name]?.[side]);
    }
    times.add(number(event.payload?.data?.signedRenewalInfo?.gracePeriodExpiresDate));
  }
  for (const it of paid) times.add(it.from).add(it.to).add(it.revoked);
  for (const row of rows) times.add(row.expires_at).add(row.grace_period_expires_at);
  return [...times].filter((time) => typeof time === "number" && time >= first && time <= last)
    .sort((a, b) => a - b);
}

const tones = ["blue", "violet", "green", "amber", "gray"];

/// Draws the chart, and returns a function that moves the line of the chosen time.
/// - lanes: [{ name, parts: [{ from, to, words, tone, isFull }] }], above the paid periods.
/// - choose: called with the event that was clicked.
export function chart({ events, paid, lanes, range, now, asOf, width, choose }) {
  const [first, last] = range;
  const x = (time) => {
    const share = (Math.max(first, Math.min(last, time)) - first) / (last - first);
    return Math.round(10 * width * share) / 10;
  };
  const svg = s("svg", { role: "img", "aria-label": summary(events, paid, lanes, now) });
  let y = 0;
  const lane = (name, height) => {
    svg.append(s("text", { class: "lane", x: 0, y: y + 10 }, name));
    y += 16 + height + 12;
    return y - height - 12;
  };
  const axis = s("g", {});
  svg.append(axis);

  for (const { name, parts } of lanes) {
    const top = lane(name, 20);
    for (const { from, to, words, tone, isFull } of parts) {
      const wide = x(to) - x(from);
      svg.append(s("g", { class: tone }, s("title", {}, `${words}, ${day(from)} to ${day(to)}`),
        s("rect", { class: isFull ? "fill" : "bar", x: x(from) + 0.5,
          y: top, width: Math.max(1, wide - 1), height: 20, rx: 3 }),
        wide > words.length * 6.4 + 12 ? s("text", { class: isFull ? "in on-fill" : "in",
          x: x(from) + 7, y: top + 14 }, words) : ""));
    }
  }

  const products = [...new Set(paid.map((it) => it.product))];
  products.forEach((product, at) => {
    const row = lane(product ?? "no product", 18);
    for (const it of paid.filter((one) => one.product === product)) {
      const end = it.to ?? (it.revoked ? Math.max(it.revoked, it.from) : last);
      const wide = Math.max(2, x(end) - x(it.from) - 1);
      const cut = it.revoked !== null && it.revoked < end ? Math.max(it.revoked, it.from) :
        null;
      const label = it.price && wide > it.price.length * 6.3 + 10 ? it.price : null;
      svg.append(s("g", { class: tones[at % tones.length] },
        s("title", {},
          `${product}, ${day(it.from)}${it.to ? ` to ${day(it.to)}` : ""}${it.price ? `, ${it.price}` : ""}${it.offer ? ", with an offer" : ""}${it.revoked !== null ? `, revoked ${day(it.revoked)}` : ""}`
          ),
        s("rect", { class: "bar", x: x(it.from), y: row, width: wide, height: 18,
        rx: 3 }),
        cut === null ? "" : s("rect", { class: "off", x: x(cut), y: row, width: Math.max(
            2, x(end) - x(cut) - 1), height: 18, rx: 3 }),
        label && cut === null ? s("text", { class: "in", x: x(it.from) + 5, y: row + 13 },
          label) : ""));
    }
  });

  // Marks that would overlap are stacked, up to four high.
  const ends = [];
  const level = new Map();
  for (const event of [...events].sort((a, b) => drawnAt(a) - drawnAt(b))) {
    const at = x(drawnAt(event));
    let free = ends.findIndex((end) => end + 11 < at);
    if (free < 0) free = ends.length < 4 ? ends.length : 3;
    ends[free] = at;
    level.set(event, free);
  }
  const marks = lane("Notifications", 34 + 12 * Math.max(0, ends.length - 1));
  const middle = marks + 22 + 12 * Math.max(0, ends.length - 1);
  svg.append(s("line", { class: "grid", x1: 0, x2: width, y1: middle, y2: middle }));
  for (const event of events) {
    const signed = drawnAt(event);
    const mark = middle - 12 * level.get(event);
    const title = s("title", {},
      `${event.words ?? `In quarantine: ${event.reason}`}, ${longTime(signed)}${event.late ? `; received ${span(event.received_at - signed)} later, ${longTime(event.received_at)}` : ""}`
      );
    const
  attributes = { class: `dot fill ${event.object === "quarantined" ? "amber" : kind(event.notification_type)[1]}`, "data-key": key(
        event), onclick: () => choose(event) };
    if (event.late) {
      const [from, to] = [x(signed), x(event.received_at)];
      svg.append(s("g", {}, s("title", {},
          `Signed ${longTime(signed)}, received ${longTime(event.received_at)}`),
        s("path", { class: "late",
          d: `M${from} ${mark - 5}C${from} ${mark - 24} ${to} ${mark - 24} ${to} ${middle - 5}` }),
        s("circle", { class: "arrival amber", cx: to, cy: middle, r: 4 })));
    }
    svg.append(event.object === "quarantined" ?
      s("rect", { ...attributes, x: x(signed) - 5, y: mark - 5, width: 10, height: 10,
        rx: 1.5 }, title) :
      s("circle", { ...attributes, cx: x(signed), cy: mark, r: 5.5 }, title));
  }

  for (const [time, text] of ticks(first, last, width)) {
    axis.append(s("line", { class: "grid", x1: x(time), x2: x(time), y1: 0, y2: y }));
    if (x(time) < width - 30) axis.append(s("text", { x: x(time) + 4, y: y + 8 }, text));
  }
  axis.append(s("line", { class: "now", x1: x(now), x2: x(now), y1: 0, y2: y }));
  const line = s("g", { class: "moment" }, s("line", { class: "asof", y1: 0, y2: y + 14 }));
  svg.append(line);
  const move = (time) => line.setAttribute("transform", `translate(${x(time)} 0)`);
  move(asOf);
  svg.setAttribute("viewBox", `0 0 ${width} ${y + 14}`);
  svg.setAttribute("height", y + 14);
  return { svg, move };
}

/// The time at which an event is drawn.
const drawnAt = (event) => event.signed_date ?? event.received_at;
/// Identifies an event in the chart and in the list.
export const key = (event) => (event.object === "quarantined" ? `q${event.id}` : `e${event.seq}`);

function summary(events, paid, lanes, now) {
  const late = events.filter((it) => it.late).length;
  return `${paid.length} paid periods, ${events.length} notifications${late ? `, ${late} of them late` : ""}; ` +
    lanes.flatMap(({ name, parts }) => parts.map((it) =>
      `${lanes.length > 1 ? `${name} ` : ""}${it.words} from ${day(it.from)}`)).slice(-12).join(", ") +
    `; the last ${ago(Math.max(...events.map((it) => it.received_at)), now)}`;
}

/// Beginnings of days, months or years: as many as fit into the width.
function ticks(first, last, width) {
  const most = Math.max(2, Math.floor(width / 78));
  const days = (last - first) / 86400000;
  const found = [];
  const date = new Date(first);
  const months = [1, 2, 3, 6, 12, 24, 60].find((it) => days / 30.4 / it <= most) ?? 120;
  if (days / most < 20) {
    const step = [1, 2, 7, 14].find((it) => days / it <= most) ?? 14;
    for (let time = Math.ceil(first / 86400000) * 86400000; time < last; time += step * 86400000)
      found.push([time, day(time).slice(5)]);
    return found;
  }
  for (let year = date.getUTCFullYear(), month = 0;; month += months) {
    const time = Date.UTC(year, month, 1);
    if (time > last) return found;
    if (time >= first) found.push([time, months >= 12 ? day(time).slice(0, 4) : new Date(time)
      .toLocaleString("en-GB", { month: "short", timeZone: "UTC" }) + (new Date(time)
        .getUTCMonth() === 0 || !found.length ? ` ${day(time).slice(0, 4)}` : "")
    ]);
  }
}
