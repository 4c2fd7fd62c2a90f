// The first page: counts of notifications, customers and quarantine, and what was recovered. Two
// routes: /v1/overview and /v1/quarantine.

import { ago, ask, brief, card, count, dot, exact, h, kind, kinds, minute, s, status, statuses,
  table, tag } from "./draw.js";

const outcomes = [
  ["Accepted", "green", "accepted"],
  ["Duplicate", "gray", "duplicate"],
  ["Quarantined", "amber", "quarantined"],
  ["Refused", "red", "refused"],
  ["Unavailable", "orange", "unavailable"]
];
const spans = [
  [24, "24 hours"],
  [72, "3 days"],
  [168, "7 days"]
];
const hour = 3600000;

export function overview(main, rest, isShown) {
  const view = { hours: 24, by: "type", data: null, quarantine: null, drawn: 0 };
  const load = async () => {
    try {
      const [data, quarantine] = await Promise.all([ask(`/v1/overview?hours=${view.hours}`),
        ask("/v1/quarantine?limit=8")
      ]);
      if (!isShown()) return;
      Object.assign(view, { data, quarantine });
      draw();
      // Asks again soon while the daemon is still counting.
      if (!data.rows || data.counted_from > data.from) setTimeout(() => { if (isShown())
        load(); }, 1500);
    } catch (error) {
      if (!isShown() || error.status === 401) return;
      if (!view.data) main.replaceChildren(h("p", { class: "note red", role: "alert" }, error
        .detail));
    }
  };
  const draw = () => {
    // The focus, open details and the scroll position survive a redraw.
    const focused = document.activeElement?.id;
    const open = [...main.querySelectorAll("details[open]")].map((it) => it.id);
    const scrolled = window.scrollY;
    view.drawn = main.clientWidth;
    main.replaceChildren(page(view, (change) => {
      const needsLoad = change.hours && change.hours !== view.hours;
      Object.assign(view, change);
      draw();
      if (needsLoad) load();
    }));
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    window.scrollTo(0, scrolled);
  };
  main.replaceChildren(h("p", { class: "soft" }, "Counting…"));
  load();
  const timer = setInterval(() => { if (!document.hidden) load(); }, 15000);
  const resized = () => { if (view.data && main.clientWidth !== view.drawn) draw(); };
  window.addEventListener("resize", resized);
  return { end: () => { clearInterval(timer);
      window.removeEventListener("resize", resized); } };
}

function page(view, set) {
  const { data } = view;
  return h("div", { class: "stack" }, h("h1", { class: "visually-hidden" }, "Overview"), tiles(data),
    chartCard(view, set),
    h("div", { class: "split" }, customers(data), apps(data)),
    unmapped(data), recovery(data), quarantine(data, view.quarantine),
    h("p", { class: "soft small" }, "Source: ", h("code", {}, "GET /v1/overview"),
      " and ", h("code", {}, "GET /v1/quarantine"), ". Times are UTC."));
}

const total = (list) => list.reduce((sum, item) => sum + item.count, 0);

function tiles(data) {
  const accepted = data.notifications.filter((item) => item.outcome === "accepted");
  const refused = data.notifications.filter((item) => item.outcome === "refused" || item.outcome ===
    "unavailable");
  const last = Math.max(...data.apps.map((app) => app.last_event?.received_at ?? 0));
  const access = total((data.rows?.by_status ?? []).filter((item) => item.gives_access));
  const share = data.rows?.total ?
    `${Math.round(100 * access / data.rows.total)} % of ${count(data.rows.total)} rows` :
    "no rows yet";
  const others = data.quarantine.only_counted ?
    `${count(data.quarantine.only_counted)} more counted, not stored` : "genuine, not admitted";
  return h("dl", { class: "tiles" },
    tile("Notifications accepted", count(total(accepted)), `in ${data.hours} hours`),
    tile("Last notification", last ? brief(ago(last, data.at)) : "none yet", refused.length ?
      `${count(total(refused))} refused or unavailable` : last ? minute(last) :
      "set the URL in App Store Connect"),
    tile("With access", data.rows ? count(access) : "…", data.rows ? share : "being counted"),
    tile("In quarantine", count(data.quarantine.count), others));
}
const tile = (name, figure, aside) => h("div", { class: "card tile" }, h("dt", {}, name), h(
"dd", {}, figure), h("dd", {}, aside));

// MARK: The chart

function chartCard(view, set) {
  const { data } = view;
  const choose = (name, values, chosen, change) => h("div", { class: "choice",
    role: "group", "aria-label": name },
    values.map(([value, text]) => h("button", { type: "button",
      id: `c-${value}`, "aria-pressed": String(value === chosen), onclick: () => change(
        value) }, text)));
  const aside = h("div", { class: "who" },
    choose("Group by", [
      ["type", "By type"],
      ["outcome", "By outcome"]
    ], view.by, (by) => set({ by })),
    choose("Time", spans, view.hours, (hours) => set({ hours })));
  const series = view.by === "type" ? byType(data) : byOutcome(data);
  const all = total(data.notifications);
  const parts = series.map(([name, tone, items]) => h("li", {}, dot(tone), name, h(
  "span", { class: "soft num" }, count(total(items)))));
  return card("Notifications by hour", aside,
    all ? chart(data, series) : h("p", { class: "soft" },
      `No notifications in the last ${data.hours} hours.`),
    h("ul", { class: "legend" }, parts),
    view.by === "outcome" ? h("p", { class: "soft small" },
      `Duplicates, refusals and unavailability are counted since the daemon started, ${minute(data.started_at)}.`
      ) : null,
    data.counted_from > data.from ? h("p", { class: "soft small" },
      `Counting earlier hours; complete since ${minute(data.counted_from)}.`) : null,
    h("details", { id: "hours" }, h("summary", { id: "hours-open" }, "As a table"),
      table(["Hour", "Outcome", "Type", "Count"], [...data.notifications].reverse().map((
          item) => [minute(item.hour), item.outcome, item.notification_type ?? "–", item.count]
          ))));
}

function byType(data) {
  const accepted = data.notifications.filter((item) => item.outcome === "accepted");
  return kinds.map((one) => [one[0], one[1], accepted.filter((item) => kind(item
      .notification_type) === one)])
    .filter(([, , items]) => items.length);
}
const byOutcome = (data) => outcomes.map(([name, tone, outcome]) => [name, tone, data
  .notifications.filter((item) => item.outcome === outcome)
]);

function chart(data, series) {
  const holder = h("div", { class: "chart" });
  // Drawn in the next frame, when it is in the page and has a width.
  requestAnimationFrame(() => drawChart(holder, data, series));
  return holder;
}

function drawChart(holder, data, series) {
  const width = Math.max(240, holder.clientWidth);
  const height = 190;
  const hours = Array.from({ length: data.hours }, (_, at) => data.from + at * hour);
  const stacks = hours.map((start) => series.map(([name, tone, items]) => [name, tone, total(items
    .filter((item) => item.hour === start))]));
  const sums = stacks.map((stack) => stack.reduce((sum, part) => sum + part[2], 0));
  const [top, step] = scale(Math.max(1, ...sums));
  const left = 12 + 7 * count(top).length;
  const y = (value) => height - height * value / top;
  const slot = (width - left) / hours.length;
  const gap = slot > 8 ? 2.5 : slot > 4 ? 1 : 0.5;
  const picture = s("svg", { viewBox: `0 0 ${width} ${height + 26}`, height: height + 26,
    role: "img", "aria-label": `${count(sums.reduce((a, b) => a + b, 0))} notifications in ${data.hours} hours; the table below has every number` });
  for (let value = 0; value <= top; value += step) {
    picture.append(s("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }),
      s("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, count(value)));
  }
  const every = [1, 2, 3, 6, 12, 24].find((step) => (hours.length / step) * 46 < width) ?? 24;
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  stacks.forEach((stack, at) => {
    const x = left + at * slot;
    let base = 0;
    for (const [, tone, value] of stack) {
      if (!value) continue;
      picture.append(s("rect", { class: `fill ${tone}`, x: x + gap / 2, width: Math.max(0.7,
          slot - gap), y: y(base + value), height: Math.max(0.7, y(base) - y(base +
          value) - (base ? 0.8 : 0)), rx: slot > 8 ? 1.5 : 0 }));
      base += value;
    }
    const clock = new Date(hours[at]).getUTCHours();
    if (clock % every === 0) {
      const text = clock === 0 ?
        `${Number(new Date(hours[at]).getUTCDate())} ${new Date(hours[at]).toLocaleString("en-GB", { month: "short", timeZone: "UTC" })}` :
        `${String(clock).padStart(2, "0")}:00`;
      picture.append(s("text", { x: x + slot / 2, y: height + 18, "text-anchor": "middle" },
        text));
    }
    const show = () => {
      tip.replaceChildren(h("b", {}, minute(hours[at])), h("ul", {}, stack.filter((part) =>
        part[2]).map(([name, tone, value]) =>
        h("li", {}, dot(tone), name, h("span", { class: "num" }, count(value))))), sums[
        at] ? "" : "none");
      tip.hidden = false;
      const share = (x + slot / 2) / width;
      tip.style.left = share < 0.6 ? `calc(${100 * share}% + 14px)` : "auto";
      tip.style.right = share < 0.6 ? "auto" : `calc(${100 * (1 - share)}% + 14px)`;
      tip.style.top = "8px";
    };
    picture.append(s("rect", { class: "hit", x, y: 0, width: slot, height,
      onpointerenter: show, onpointerleave: () => { tip.hidden = true; } }));
  });
  holder.replaceChildren(picture, tip);
}

/// The top of an axis and the step of its grid lines: whole numbers, 1, 2 or 5 times a power of ten.
function scale(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = Math.max(1, [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough));
  return [Math.ceil(most / step) * step, step];
}

// MARK: Customers and apps

function customers(data) {
  if (!data.rows) return card("Customers by status", null, h("p", { class: "soft" },
    "Rows are being counted, or the projection is being built for the first time."));
  const rows = Object.keys(statuses).map((name) => [name, total(data.rows.by_status.filter((
    item) => item.status === name))]);
  const most = Math.max(1, ...rows.map(([, number]) => number));
  return card("Customers by status", h("span", { class: "soft small", title: exact(data.rows
        .counted_at) }, `counted ${ago(data.rows.counted_at, data.at)}`),
    data.rows.broken ? h("p", { class: "note red small" },
      `${count(data.rows.broken)} rows could not be folded completely; subledger verify lists them.`
      ) : null,
    h("ul", { class: "bars" }, rows.map(([name, number]) => {
      const [text, tone] = status(name);
      const fill = h("span", { class: tone, hidden: !number });
      fill.style.width = `${100 * number / most}%`;
      return h("li", {}, h("span", {}, text), h("span", { class: "num" }, count(number)), h(
        "span", { class: "track" }, fill));
    })));
}

/// Products that the configuration maps to no entitlement: customers who bought them get nothing.
function unmapped(data) {
  if (!data.unmapped_products?.length) return null;
  return card("Sold and mapped to nothing", null,
    h("p", { class: "soft small" }, "Add these products to an entitlement of the configuration."),
    h("ul", { class: "rows" }, data.unmapped_products.map((product) => h("li", {},
      h("b", {}, product.product_id), h("span", { class: "soft small end" }, product.suggestion ?
        `${product.bundle_id} · probably ${product.suggestion}` : product.bundle_id)))));
}

function apps(data) {
  return card("Last notification per app", null, data.apps.length ?
    h("ul", { class: "rows" }, data.apps.map((app) => {
      const last = app.last_event;
      return h("li", {}, h("span", {}, h("b", {}, app.bundle_id), " ", tag(app
            .environment === "Production" ? "blue" : "gray", app.environment),
          app.configured ? null : [" ", tag("amber", "not configured")],
          h("br"), h("span", { class: "soft small" }, last ? [last.notification_type, last
            .subtype
          ].filter(Boolean).join(" / ") : "Nothing journaled yet")),
        h("span", { class: "end" }, last ? ago(last.received_at, data.at) : "–", h("br"),
          h("span", { class: "soft small num" }, last ? minute(last.received_at) : "")));
    })) : h("p", { class: "soft" },
      "No app is configured: every notification goes to quarantine."));
}

// MARK: Recovery

const code = (text) => h("code", {}, text);
const keyHint = () => ["Add ", code("appStore"), " to the configuration: ", code(
  "subledger help configuration"), "."];

function recovery(data) {
  const { apps, next_at: next, next_reconciliation_at: nextReconciliation } = data.recovery;
  if (!apps.length) return null;
  if (apps.every((app) => app.recover === "no_key")) {
    return card("Recovery", null, h("p", { class: "soft" },
      "Apple is not asked for what was missed: no app has a key. ", keyHint()));
  }
  const due = (time) => time > data.at ? ago(time, data.at) : "now";
  const aside = [next && `next recovery ${due(next)}`, nextReconciliation &&
    `next reconciliation ${due(nextReconciliation)}`
  ].filter(Boolean).join(", ");
  return card("Recovery", h("span", { class: "soft small" }, aside), h("ul", { class: "rows",
    id: "recovery" }, apps.map((app) => h("li", {}, h("span", {}, h("b", {}, app
      .bundle_id), " ", tag(app.environment === "Production" ? "blue" : "gray", app
      .environment), lines(app, data).map((line) => [h("br"), h("span", {
      class: "soft small" }, line)]))))));
}

function lines(app, data) {
  if (app.recover === "no_key") return [["Not asked about: no key. ", keyHint()]];
  if (app.recover === "off") return [["Not asked about: ", code("\"recover\": \"off\"")]];
  const { last_recovery: found, last_reconciliation: compared } = app;
  const when = (name, time) => h("span", { title: exact(time) }, `${name} ${ago(time, data.at)}: `);
  const failed = (error) => error ? [" ", tag("red", "failed"), ` ${error}`] : null;
  const many = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;
  return [
    found ? [when("Recovery", found.at), found.recovered ?
      `${count(found.recovered)} of ${many(found.listed, "listed notification")} recovered` :
      `${found.error ? "" : "nothing was missing, "}${many(found.listed, "notification")} listed`,
      found.delivered ? [" ", tag("red", `${count(found.delivered)} that Apple believes delivered`)] :
      null,
      found.refused ? [" ", tag("red", `${count(found.refused)} refused`)] : null,
      found.gone ? [" ", tag("amber", "Apple no longer has all")] : null, failed(found.error)
    ] : "No recovery since the daemon started",
    compared ? [when("Reconciliation", compared.at), compared.asked ?
      `${count(compared.asked)} due, ${count(compared.differed)} differed` :
      compared.error ? "nobody was asked about" : "nobody was due",
      compared.remaining ? [" ", tag("red", `${count(compared.remaining)} still differ`)] : null,
      failed(compared.error)
    ] : data.recovery.reconciled_at ?
    `Last reconciliation ${ago(data.recovery.reconciled_at, data.at)}, before the daemon started` :
    "No reconciliation yet"
  ];
}

// MARK: Quarantine

const reasons = {
  other_app: "of another app",
  other_environment: "of an environment that is not configured",
  other_app_apple_id: "with another appAppleId",
  conflict: "with a known UUID and other content",
  payload_json: "whose payload is not JSON"
};

function quarantine(data, list) {
  const { by_reason: groups } = data.quarantine;
  if (!groups.length) return card("Quarantine", null, h("p", { class: "soft" },
    "Empty. Genuine notifications that are not admitted are stored here."));
  return card("Quarantine", h("span", { class: "soft small" }, h("code", {},
      "subledger quarantine admit ID"), " after the configuration is corrected"),
    h("ul", { class: "rows" }, groups.map((group) => h("li", {}, h("span", {}, h(
        "b", { class: "num" }, count(group.count)),
        ` ${reasons[group.reason] ?? group.reason}`,
        h("span", { class: "soft" },
          ` · ${group.bundle_id ?? "no app"} · ${group.environment ?? "no environment"}`)),
      h("span", { class: "end soft small" }, `last ${ago(group.last_received_at, data.at)}`)
      ))),
    h("details", { id: "newest" },
      h("summary", { id: "newest-open" }, `The ${list.items.length} newest`),
      table(["ID", "Received", "Reason", "Type", "App"], list.items.map((item) => [
        String(item.id), minute(item.received_at), item.reason, item.notification_type ?? "–",
        item.bundle_id ?? "–",
      ]))));
}
