// The first page: counts of notifications, subscriptions and quarantine; what was recovered, and
// what the sinks do.

import { address, ask, query, scope, scoped } from "./api.js";
import { hours } from "./chart.js";
import { ago, brief, card, code, count, dot, empty, exact, figure, h, heading, link, many, minute,
  note, pill, since, soft, sources, table, tag, time } from "./draw.js";
import { kind, kinds, reasons, sourceGroups, status, statuses, withAccess } from "./names.js";
import { keyHint, summary } from "./recovery.js";
import { states } from "./sinks.js";

const [notifications, evidence, statements] = sourceGroups.map(([sources]) => sources);
const outcomes = [["Accepted", "green", "accepted"], ["Evidence", "blue", "evidence"],
  ["Claims and grants", "violet", "statement"], ["Duplicates", "gray", "duplicate"],
  ["Quarantined", "amber", "quarantined"], ["Refused", "red", "refused"],
  ["Unavailable", "orange", "unavailable"]];
const spans = [[24, "24 hours"], [72, "3 days"], [168, "7 days"]];
const hour = 3600000;

export async function overview(main, shown) {
  const view = { hours: 24, by: "type", data: null, all: null, sinks: null, drawn: 0 };
  const load = async () => {
    const [data, all, sinks] = await Promise.all([
      ask(query("/v1/overview", { ...scoped(), hours: view.hours })), ask("/v1/overview?hours=1"),
      // A token that is limited to some apps may not see them.
      ask("/v1/sinks").catch(() => null)]);
    if (!shown.isShown()) return;
    Object.assign(view, { data, all, sinks: sinks?.items ?? [] });
    draw();
    // Asks again soon while the daemon is still counting.
    if (!data.rows || data.counted_from > data.from) setTimeout(again, 1500);
  };
  const again = () => {
    if (shown.isShown() && !document.hidden) load().catch(() => {});
  };
  const draw = () => {
    // The focus, open details and the scroll position survive a redraw.
    const focused = document.activeElement?.id;
    const open = [...main.querySelectorAll("details[open]")].map((it) => it.id).filter(Boolean);
    const scrolled = window.scrollY;
    view.drawn = main.clientWidth;
    main.replaceChildren(page(view, (change) => {
      const needsLoad = change.hours && change.hours !== view.hours;
      Object.assign(view, change);
      draw();
      if (needsLoad) load().catch(() => {});
    }));
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused && focused !== "main") document.getElementById(focused)?.focus({
      preventScroll: true });
    window.scrollTo(0, scrolled);
  };
  const timer = setInterval(again, 15000);
  const resized = () => { if (view.data && main.clientWidth !== view.drawn) draw(); };
  window.addEventListener("resize", resized);
  shown.end = () => {
    clearInterval(timer);
    window.removeEventListener("resize", resized);
  };
  await load();
}

function page(view, set) {
  const { data, all } = view;
  return h("div", { class: "stack" },
    heading("Overview", { page: "", query: {}, hasScope: true }), refused(data), tiles(data, all),
    chartCard(view, set),
    h("div", { class: "split" }, subscriptions(data), apps(data)),
    h("div", { class: "split" }, recovery(data), quarantine(all)), sinks(view.sinks),
    unmapped(data),
    sources(query("/v1/overview", { ...scoped(), hours: view.hours }), "/v1/sinks"));
}

const total = (list) => list.reduce((sum, item) => sum + item.count, 0);
const events = (parameters) => address("events", [], parameters);

/// The configured mapping of products to entitlements, where too many would lose one by it.
function refused(data) {
  if (!data.refused_mapping.length) return null;
  const losses = data.refused_mapping.map((loss) => h("li", {}, h("b", {}, loss.name),
    ` would be lost by ${count(loss.would_lose)} of ${many(loss.having, "customer")} of `,
    `${loss.bundle_id}, ${loss.environment}; the limit is ${loss.limit_percent} %`));
  return h("div", { class: "note red", role: "alert", id: "refused-mapping" },
    h("p", {}, "The configured mapping of products to entitlements is not in force. The one ",
      "before is, because by the new one:"), h("ul", {}, losses),
    h("p", {}, "See who with ", code("subledger entitlements --diff FILE"), ". Correct the ",
      "configuration, or put it in force with ", code("subledger entitlements --accept FILE"),
      "."));
}

// MARK: Tiles

function tiles(data, all) {
  const of = (name) => data.notifications.filter((item) => item.outcome === name);
  const accepted = total(of("accepted"));
  const [refused, asked] = [total([...of("refused"), ...of("unavailable")]), total(of("evidence"))];
  const last = Math.max(...data.apps.map((app) => app.last_notification?.received_at ?? 0));
  const access = total((data.rows?.by_status ?? []).filter((item) => item.gives_access));
  const { count: kept, only_counted: dropped } = all.quarantine;
  return h("dl", { class: "tiles" },
    tile("Notifications accepted", figure(accepted, events({ since: data.from,
      source: notifications })), [`in ${data.hours} hours`, asked ? [", and ",
      link(events({ since: data.from, source: evidence }), many(asked, "fact")),
      " as evidence"] : null]),
    tile("Last notification", last ? link(events({ source: notifications }),
      time(last, brief(ago(last, data.at)))) : "None yet", refused
      ? `${count(refused)} refused or unavailable` : last ? time(last)
        : "Set the URL in App Store Connect"),
    tile("Subscriptions with access", data.rows ? figure(access, address("subscriptions", [],
      { status: withAccess })) : "…", !data.rows ? "Being counted" : data.rows.total
      ? [`${Math.round(100 * access / data.rows.total)} % of `,
        link(address("subscriptions"), count(data.rows.total))] : "None yet"),
    tile("In quarantine", figure(kept, address("quarantine")), dropped
      ? `${count(dropped)} more counted, not stored` : "Genuine, not admitted; every app"));
}

const tile = (name, number, aside) => h("div", { class: "card tile" }, h("dt", {}, name),
  h("dd", {}, number), h("dd", {}, aside));

// MARK: The chart

function chartCard(view, set) {
  const { data } = view;
  const choose = (name, values, chosen, change) => h("div", { class: "choice", role: "group",
    "aria-label": name }, values.map(([value, text]) => h("button", { type: "button",
    id: `c-${value}`, "aria-pressed": String(value === chosen), onclick: () => change(value) },
  text)));
  const aside = h("div", { class: "who" },
    choose("Group by", [["type", "By type"], ["outcome", "By outcome"]], view.by,
      (by) => set({ by })),
    choose("Time", spans, view.hours, (hours) => set({ hours })));
  const series = view.by === "type" ? byType(data) : byOutcome(data);
  const sum = series.reduce((all, [, , items]) => all + total(items), 0);
  const holder = h("div", { class: "chart" });
  const choice = (from) => { location.hash = events({ since: from, until: from + hour }); };
  // Drawn in the next frame, when it is in the page and has a width.
  requestAnimationFrame(() => hours(holder, data, series, choice));
  return card("Notifications by hour", aside, sum ? holder : empty(
    `No notification in the last ${data.hours} hours`, data.apps.some((app) =>
      app.last_notification) ? "Choose a longer time, or look at the last one of each app below."
      : "Set the daemon’s address as the server URL in App Store Connect."),
  h("ul", { class: "legend" }, series.map(([name, tone, items, href]) => h("li", {}, dot(tone),
    name, figure(total(items), href)))),
  view.by === "outcome" ? h("p", { class: "soft small" }, "Duplicates, refused and unavailable ",
    "notifications are counted since the daemon started, ", time(data.started_at),
    ", and not stored.") : null,
  data.counted_from > data.from ? h("p", { class: "soft small" },
    `Counting earlier hours; complete since ${minute(data.counted_from)}.`) : null,
  sum ? h("details", { id: "hours" }, h("summary", { id: "hours-open" }, "As a table"),
    table(["Hour", "Outcome", "Type", "Count"], [...data.notifications].reverse().map((item) => [
      time(item.hour), outcomes.find(([, , it]) => it === item.outcome)?.[0] ?? item.outcome,
      item.notification_type ?? "–", figure(item.count, hourLink(item))]))) : null);
}

const sourcesOf = { accepted: notifications, evidence, statement: statements };
const hourLink = (item) => (sourcesOf[item.outcome] ? events({ since: item.hour,
  until: item.hour + hour, type: item.notification_type, source: sourcesOf[item.outcome] })
  : item.outcome === "quarantined" ? address("quarantine") : null);

function byType(data) {
  const accepted = data.notifications.filter((item) => item.outcome === "accepted");
  return kinds.map((one) => {
    const items = accepted.filter((item) => kind(item.notification_type) === one);
    const names = [...new Set(items.map((item) => item.notification_type))].sort().join(",");
    return [one[0], one[1], items, events({ since: data.from, type: names,
      source: notifications })];
  }).filter(([, , items]) => items.length);
}

const byOutcome = (data) => outcomes.map(([name, tone, outcome]) => [name, tone,
  data.notifications.filter((item) => item.outcome === outcome),
  sourcesOf[outcome] ? events({ since: data.from, source: sourcesOf[outcome] })
    : outcome === "quarantined" ? address("quarantine") : null])
  .filter(([, , items, href]) => items.length || !href || href === address("quarantine"));

// MARK: Subscriptions and apps

function subscriptions(data) {
  if (!data.rows) {
    return card("Subscriptions by status", null, soft("They are being counted, or the rows of ",
      "this version are being built."));
  }
  const rows = Object.keys(statuses).map((name) => [name, total(data.rows.by_status.filter(
    (item) => item.status === name))]);
  const most = Math.max(1, ...rows.map(([, number]) => number));
  return card("Subscriptions by status", h("span", { class: "soft small",
    title: exact(data.rows.counted_at) }, `counted ${ago(data.rows.counted_at, data.at)}`),
  data.rows.broken ? h("p", { class: "note red small" }, many(data.rows.broken, "row"),
    " could not be folded completely; ", code("subledger verify"), " lists them.") : null,
  h("ul", { class: "bars" }, rows.map(([name, number]) => {
    const [text, tone] = status(name);
    const bar = h("span", { class: tone, hidden: !number });
    bar.style.width = `${100 * number / most}%`;
    return h("li", {}, h("span", {}, text), figure(number, address("subscriptions", [],
      { status: name })), h("span", { class: "track" }, bar));
  })));
}

/// Products that the configuration maps to no entitlement: customers who bought them get nothing.
function unmapped(data) {
  if (!data.unmapped_products?.length) return null;
  return card("Sold and mapped to nothing", null,
    h("p", { class: "soft small" }, "Add these products to an entitlement of the configuration: ",
      code("subledger help configuration"), "."),
    h("ul", { class: "rows" }, data.unmapped_products.map((product) => h("li", {},
      link(address("subscriptions", [], { product: product.product_id }), product.product_id),
      h("span", { class: "soft small end" }, product.suggestion
        ? `${product.bundle_id} · probably ${product.suggestion}` : product.bundle_id)))));
}

/// Newest first, as the dates that are shown.
function apps(data) {
  const list = [...data.apps].sort((a, b) => (b.last_notification?.received_at ?? 0) -
    (a.last_notification?.received_at ?? 0));
  return card("Last notification per app", null, list.length ? h("ul", { class: "rows" },
    list.map(({ bundle_id: app, environment, configured, last_notification: last }) => h("li", {},
      h("span", {}, h("b", {}, app), " ", tag(environment === "Production" ? "blue" : "gray",
        environment), configured ? null : [" ", tag("amber", "not configured")],
      h("span", { class: "soft small block" }, last ? [last.notification_type, last.subtype]
        .filter(Boolean).join(" / ") : "No notification yet")),
      last ? h("span", { class: "end" }, link(events({ app, environment, source: notifications }),
        since(last.received_at, data.at)), h("span", { class: "soft small block" },
        time(last.received_at))) : null)))
    : scope.apps.length ? empty("No app in this scope", "Choose another environment or app.")
      : empty("No app is configured", "Every notification goes to quarantine. Add yours to ",
        code("apps"), " of the configuration."));
}

// MARK: Recovery, quarantine, sinks

function recovery(data) {
  const { apps: list, next_at: next } = data.recovery;
  if (!list.length) return null;
  if (list.every((app) => app.recover === "no_key")) {
    return card("Recovery", null, soft("Apple is not asked for what was missed: no app has a key. ",
      keyHint()));
  }
  return card("Recovery", link(address("recovery"), "Details"), h("ul", { class: "rows",
    id: "recovery" }, list.map((app) => h("li", {}, h("span", {}, h("b", {}, app.bundle_id), " ",
    tag(app.environment === "Production" ? "blue" : "gray", app.environment),
    summary(app, data).map((part) => h("span", { class: "soft small block" }, part)))))),
  next ? h("p", { class: "soft small" }, next > data.at ? `Next recovery ${ago(next, data.at)}.`
    : "A recovery is due now.") : null);
}

function quarantine(all) {
  const groups = all.quarantine.by_reason;
  if (!groups.length) {
    return card("Quarantine", null, soft("Empty. Genuine notifications that are not admitted are ",
      "stored here."));
  }
  return card("Quarantine", link(address("quarantine"), "Details"), h("ul", { class: "rows" },
    groups.slice(0, 6).map((group) => h("li", {}, h("span", {}, figure(group.count,
      address("quarantine", [], { reason: group.reason, bundle: group.bundle_id,
        in: group.environment })), ` ${reasons[group.reason]?.[0] ?? group.reason}`,
    h("span", { class: "soft small block" }, group.bundle_id ?? "no app", " · ",
      group.environment ?? "no environment")), h("span", { class: "end soft small" }, "last ",
    since(group.last_received_at, all.at))))));
}

function sinks(list) {
  if (!list.length) return null;
  return card("Sinks", link(address("sinks"), "Details"), h("ul", { class: "rows" },
    list.map((sink) => h("li", {}, h("b", {}, sink.name), sink.replay ? tag("gray",
      `replay ${sink.replay}`) : null, pill(states[sink.state]?.[1] ?? "gray",
      states[sink.state]?.[0] ?? sink.state), h("span", { class: "soft small end" },
      sink.lag_events ? `${many(sink.lag_events, "event")} behind` : "up to date",
      sink.dead ? `, ${count(sink.dead)} given up` : "")))));
}
