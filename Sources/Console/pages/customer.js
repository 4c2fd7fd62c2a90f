// One customer: found by any id, with the row in a sentence, its timeline and all events.

import { ago, ask, card, count, day, dot, exact, fill, h, kind, minute, longTime, money, offer,
  ownership, pill, span, status, table, tag } from "./draw.js";
import { breakpoints, chart, extent, key, periods } from "./timeline.js";

const environments = ["Production", "Sandbox"];
const address = (row) =>
  `#/customer/${encodeURIComponent(row.original_transaction_id)}/${row.environment}/${encodeURIComponent(row.bundle_id)}`;

export function customer(main, [id, environment, bundle], isShown) {
  const body = h("div", { class: "stack", "aria-live": "off" });
  main.replaceChildren(h("div", { class: "stack" }, search(id), body));
  const page = { end: () => {} };
  const work = !id ? welcome(body) : environment && bundle ? show(body, { id, environment,
      bundle }, isShown, page) : find(body, id, isShown);
  work.catch((error) => {
    if (isShown() && error.status !== 401) body.replaceChildren(h("p", { class: "note red",
      role: "alert" }, error.detail ?? String(error)));
  });
  return { end: () => page.end() };
}

// MARK: Finding

function search(id) {
  const field = h("input", { type: "search", id: "q", value: id ?? "", spellcheck: "false",
    autocomplete: "off", placeholder: "2000000000000001", "aria-describedby": "q-help" });
  const go = (event) => {
    event.preventDefault();
    const text = field.value.trim();
    const next = `#/customer/${encodeURIComponent(text)}`;
    if (text && location.hash === next) window.dispatchEvent(new HashChangeEvent("hashchange"));
    else if (text) location.hash = next;
  };
  return h("search", {}, h("form", { onsubmit: go, role: "search" },
    h("label", { for: "q" }, "Find a customer"),
    h("div", { class: "find" }, field, h("button", { class: "main", type: "submit" },
    "Find")),
    h("p", { class: "soft small", id: "q-help" },
      "By original transaction id, app account token or app transaction id.")));
}

async function welcome(body) {
  document.getElementById("q").focus();
  const { items } = await ask("/v1/entitlements?limit=8");
  if (items.length) body.replaceChildren(card("Some customers", null, matches(items)));
  else body.replaceChildren(h("p", { class: "note" },
    "There is no customer yet: no notification about a purchase has been journaled."));
}

async function find(body, id, isShown) {
  body.replaceChildren(h("p", { class: "soft", role: "status" }, "Searching…"));
  const encoded = encodeURIComponent(id);
  const found = new Map();
  const add = (row) => { if (row) found.set(address(row), row); };
  const isPlain = /^[0-9A-Za-z_-]{1,128}$/.test(id);
  const isToken = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
  for (const environment of isPlain ? environments : []) {
    (await rows(encoded, environment)).forEach(add);
  }
  for (const name of isToken ? ["app_account_token"] : ["app_transaction_id"]) {
    (await ask(`/v1/entitlements?${name}=${encoded}`)).items.forEach(add);
  }
  if (!isShown()) return;
  const all = [...found.values()];
  if (all.length === 1) return location.replace(address(all[0]));
  body.replaceChildren(all.length
    ? card(`${all.length} rows have this id`, null, matches(all))
    : h("div", { class: "note amber", role: "status" },
      h("h2", {}, "No customer found with this id"),
      h("p", {}, "Each renewal has its own transaction id, which cannot be searched for here: ",
        "use the ", h("b", {}, "original"), " transaction id, which never changes. ",
        "A token that is restricted to some apps or environments only finds those.")));
}

/// The rows of an original transaction id, one for each app that has it. Where there is only a
/// history (everything is in quarantine), its key stands for the row.
async function rows(encoded, environment) {
  const path = `/v1/entitlements/${encoded}`;
  try {
    const row = await ask(`${path}?environment=${environment}`);
    if (row) return [row];
    const history = await ask(`${path}/history?environment=${environment}`);
    if (!history) return [];
  } catch (error) {
    if (error.code !== "bundle_id") throw error;
  }
  // Two apps share the id, or there is a history without a row.
  const { apps } = await ask(`/v1/overview?hours=1&environment=${environment}`);
  const found = [];
  for (const app of apps) {
    const query = `environment=${environment}&bundle_id=${encodeURIComponent(app.bundle_id)}`;
    const row = await ask(`${path}?${query}`) ?? await ask(`${path}/history?${query}`);
    const key = {
      original_transaction_id: decodeURIComponent(encoded), environment, bundle_id: app.bundle_id,
    };
    if (row) found.push(row.object === "entitlement" ? row : key);
  }
  return found;
}

const matches = (list) => h("ul", { class: "rows" }, list.map((row) => h("li", {},
  h("a", { class: "id", href: address(row) }, row.original_transaction_id),
  row.status ? pill(status(row.status)[1], status(row.status)[0]) : tag("gray", "no row"),
  h("span", {}, row.product_id ?? ""), h("span", { class: "soft small end" },
    `${row.bundle_id} · ${row.environment}`))));

// MARK: One customer

async function show(body, who, isShown, page) {
  body.replaceChildren(h("p", { class: "soft", role: "status" }, "Loading…"));
  const path = `/v1/entitlements/${encodeURIComponent(who.id)}`;
  const query = `environment=${who.environment}&bundle_id=${encodeURIComponent(who.bundle)}`;
  const [row, history] = await Promise.all([ask(`${path}?${query}`), ask(
    `${path}/history?${query}&raw=true`)]);
  if (!isShown()) return;
  if (!history) return body.replaceChildren(h("p", { class: "note amber" },
    "No customer with this id in this app and environment."));
  const now = row?.as_of ?? Date.now();
  const view = { who, row, now, asOf: null, open: new Set(),
    events: history.items.filter((it) => it.object !== "transition"),
    answers: new Map(), band: [] };
  view.paid = periods(view.events);
  view.range = extent(view.events, view.paid, now);
  const answer = h("section", { class: "card", "aria-labelledby": "who" });
  const timeline = h("section", { class: "card", "aria-labelledby": "h-timeline" });
  const list = h("ol", { class: "events" });
  body.replaceChildren(answer, timeline,
    card("Events", h("span", { class: "soft small" },
        `${count(view.events.length)}, newest first`), list,
      history.more_quarantined ? h("p", { class: "note amber small" },
        "Quarantine holds more notifications about this customer than are shown.") : null),
    h("p", { class: "soft small" }, "Source: ", h("code", {}, `GET ${path}`), " with ",
      h("code", {}, "as_of="), ", and ", h("code", {}, "/history?raw=true"), "."));
  const parts = { answer, timeline, list };
  view.at = async (time) => {
    if (!view.answers.has(time)) view.answers.set(time, ask(
      `${path}?${query}&as_of=${Math.round(time)}`));
    return view.answers.get(time);
  };
  drawAnswer(parts.answer, view, row);
  drawEvents(parts.list, view);
  const slider = drawTimeline(parts, view);
  const resized = () => slider.draw();
  window.addEventListener("resize", resized);
  page.end = () => window.removeEventListener("resize", resized);
  await measure(view, isShown);
  if (isShown()) slider.draw();
}

/// Asks for the row at every time it may change; between two of them it stays the same. With more
/// than 160 such times, only every n-th is asked for.
async function measure(view, isShown) {
  const every = breakpoints(view.events, view.paid, view.row ? [view.row] : [], view.range);
  const most = 160;
  const times = every.length <= most ? every : every.filter((_, at) => at % Math.ceil(every
    .length / most) === 0);
  const answers = new Array(times.length);
  let next = 0;
  const worker = async () => {
    while (next < times.length && isShown()) {
      const at = next;
      next += 1;
      answers[at] = await view.at(times[at]).catch(() => null);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  view.band = times.map((from, at) => ({ from, to: times[at + 1] ?? view.range[1], row: answers[
        at] }))
    .reduce((band, part) => {
      const last = band.at(-1);
      if (last && last.row?.status === part.row?.status) last.to = part.to;
      else band.push({ ...part });
      return band;
    }, []);
}

// MARK: The row in a sentence

/// - isFuture: the row is evaluated at a time to come.
function sentence(row, isFuture) {
  const isOver = row.status === "expired" || row.status === "revoked";
  const price = row.price ? money(row.price.milliunits, row.price.currency) : null;
  const ends = row.expires_at ? longTime(row.expires_at) : null;
  const renews = row.auto_renew === false ? ", and it will not renew" :
    row.auto_renew ?
    `, and then renews automatically${row.pending_product_id ? ` as ${row.pending_product_id}` : ""}` :
    "";
  const text = {
    active: ends ?
      `Has access. The period that began on ${longTime(row.starts_at)} ends on ${ends}${renews}.` :
      "Has access, with no end date.",
    grace_period: `Has access, although Apple could not charge the customer: the grace period runs until ${row.grace_period_expires_at ? longTime(row.grace_period_expires_at) : "its end"}.`,
    billing_retry: `No access. ${ends ? `It was paid until ${ends}; ` : ""}Apple is still trying to charge the customer.`,
    expired: `No access${ends ? `: the last period ended on ${ends}` : ""}.`,
    revoked: `No access: Apple revoked the purchase${row.revoked_at ? ` on ${longTime(row.revoked_at)}` : ""}, because of a refund or because family sharing or an assigned seat ended.`,
  } [row.status] ?? `The status is ${row.status}.`;
  const more = [
    price ? `The price ${isOver ? "was" : "is"} ${price}.` : null,
    ownership(row.ownership),
    row.offer ?
    `Bought with ${offer(row.offer.type)}${row.offer.identifier ? ` (${row.offer.identifier})` : ""}.` : null,
    row.price_increase === "pending" ? "A price increase is waiting for consent." : row
    .price_increase === "accepted" ? "The price increase was accepted." : null,
    row.gap ? "At least one paid period is missing: no notification about it was delivered." : null,
  ];
  return [isFuture ? "Unless another event arrives:" : null, text, ...more].filter(Boolean).join(
    " ");
}

function facts(row) {
  const time = (ms) => (ms === null ? "–" : h("time", { datetime: new Date(ms).toISOString(),
    title: exact(ms) }, minute(ms)));
  return [
    ["Product", row.product_id ?? "–", row.product_id],
    ["Start", time(row.starts_at), row.starts_at],
    ["Expires", row.expires_at === null ? "never" : time(row.expires_at), row.expires_at],
    ["Grace period until", time(row.grace_period_expires_at), row.grace_period_expires_at],
    ["Revoked", time(row.revoked_at), row.revoked_at],
    ["Auto-renew", row.auto_renew === null ? "–" : row.auto_renew ? "yes" : "no", row
      .auto_renew
    ],
    ["Next product", row.pending_product_id ?? "–", row.pending_product_id],
    ["Price", row.price ? money(row.price.milliunits, row.price.currency) : "–", JSON.stringify(
      row.price)],
    ["Type", row.product_type ?? "–", row.product_type],
    ["Ownership", row.ownership ?? "–", row.ownership],
    ["Transaction", row.transaction_id ?? "–", row.transaction_id],
    ["App account token", row.app_account_token ?? "–", row.app_account_token],
    ["App transaction id", row.app_transaction_id ?? "–", row.app_transaction_id],
    ["Events", count(row.event_count), row.event_count],
  ].filter(([name, , value]) => !["Grace period until", "Revoked", "Next product"].includes(
    name) || (value !== null && value !== undefined));
}

function drawAnswer(section, view, row) {
  const isNow = view.asOf === null;
  const title = h("h1", { id: "who" }, row?.product_id ?? view.row?.product_id ?? "No row");
  const then = new Map((view.row ? facts(view.row) : []).map(([name, , value]) => [name, value]));
  fill(section, h("div", { class: "who" }, title, row ? pill(status(row.status)[1], status(row
        .status)[0]) : tag("gray", "no row"),
      isNow ? null : tag("blue", `as of ${minute(view.asOf)}`)),
    h("p", { class: "soft small" }, h("span", { class: "id" }, view.who.id),
      ` · ${view.who.bundle} · ${view.who.environment}`),
    h("p", { class: "sentence" }, row ? sentence(row, !isNow && view.asOf > view.now) : isNow ?
      "No row: no journaled event contains a purchase." :
      "At that time Apple had not reported a purchase yet."),
    row?.succeeded_by ? h("p", {}, "Succeeded by ", h("a", { href: address({ ...row,
        original_transaction_id: row.succeeded_by }) }, row.succeeded_by), ".") : null,
    row ? h("dl", { class: "facts" }, facts(row).map(([name, shown, value]) =>
      h("div", { class: !isNow && view.row && then.get(name) !== value && name !== "Events" ?
          "changed" : null }, h("dt", {}, name), h("dd", {}, shown)))) : null);
}

// MARK: The timeline and its slider

function drawTimeline(parts, view) {
  const [first, last] = view.range;
  const steps = 1000;
  const holder = h("div", { class: "timeline" });
  const shown = h("output", { for: "moment", id: "moment-text" });
  const range = h("input", { type: "range", id: "moment", min: 0, max: steps,
  value: 0, "aria-label": "As of" });
  const stops = [...new Set(view.events.map((it) => it.signed_date).filter((it) => it !== null))]
    .sort((a, b) => a - b);
  const position = (time) => Math.round(steps * (time - first) / (last - first));
  let drawing = null;
  let waiting = 0;
  const choose = (event) => {
    toggle(parts.list, view, event, true);
    parts.list.querySelector(`[data-key="${key(event)}"] > button`)?.focus();
  };
  const draw = () => {
    const width = Math.max(260, parts.timeline.clientWidth - (window.innerWidth > 760 ? 46 : 34));
    drawing = chart({ ...view, asOf: view.asOf ?? view.now, width, choose });
    holder.replaceChildren(drawing.svg);
  };
  const set = (time, isExact) => {
    view.asOf = time;
    const shownTime = time ?? view.now;
    drawing.move(shownTime);
    if (!isExact) range.value = position(shownTime);
    // The row since the last breakpoint is shown at once, and then confirmed by the daemon.
    const guess = time === null ? view.row : view.band.find((it) => it.from <= shownTime &&
      shownTime < it.to)?.row;
    const tell = (row) => {
      const name = row ? status(row.status)[0] : "no row";
      shown.textContent = time === null ? `Now: ${name}` : `As of ${exact(time)}: ${name}`;
      range.setAttribute("aria-valuetext", shown.textContent);
      drawAnswer(parts.answer, view, row);
      for (const item of parts.list.children) item.classList.toggle("future", time !== null &&
        Number(item.dataset.time) > time);
    };
    if (guess || time === null) tell(guess);
    clearTimeout(waiting);
    if (time !== null) {
      waiting = setTimeout(async () => {
        const row = await view.at(time).catch(() => undefined);
        if (row !== undefined && view.asOf === time && parts.answer.isConnected) tell(
        row);
      }, guess ? 120 : 0);
    }
  };
  const step = (way) => {
    const at = view.asOf ?? view.now;
    const stop = way > 0 ? stops.find((it) => it > at) : stops.findLast((it) => it < at);
    if (stop !== undefined) set(stop);
    else if (way > 0) set(null);
  };
  range.addEventListener("input", () => set(Math.round(first + (last - first) * range
    .valueAsNumber / steps), true));
  parts.timeline.replaceChildren(h("div", { class: "head" }, h("h2", { id: "h-timeline" }, "Timeline"),
      h("span", { class: "soft small" }, `${day(Math.max(first, 0))} to ${day(last)}`)), holder,
    h("div", { class: "when" }, range, h("div", { class: "line" }, shown,
      h("button", { type: "button", id: "earlier", "aria-label": "Previous event",
      onclick: () => step(-1) }, "← Previous"),
      h("button", { type: "button", id: "later", "aria-label": "Next event", onclick: () =>
          step(1) }, "Next →"),
      h("button", { type: "button", id: "now", onclick: () => set(null) }, "Now"))));
  draw();
  set(null);
  return { draw };
}

// MARK: Events

function drawEvents(list, view) {
  list.replaceChildren(...[...view.events].reverse().map((event) => {
    const isQuarantined = event.object === "quarantined";
    const time = event.signed_date ?? event.received_at;
    const tone = isQuarantined ? "amber" : kind(event.notification_type)[1];
    return h("li", { "data-key": key(event), "data-time": time },
      h("button", { type: "button", "aria-expanded": "false", onclick: () => toggle(list,
            view, event) },
        dot(tone, isQuarantined ? "square" : ""), h("time", { class: "soft num time",
          datetime: new Date(time).toISOString() }, minute(time)),
        h("span", {}, h("b", {}, isQuarantined ? `in quarantine: ${event.reason}` : event.words),
          h("br"),
          h("span", { class: "code" }, [event.notification_type, event.subtype].filter(
            Boolean).join(" / "))),
        h("span", { class: "tags" }, event.late ? tag("amber",
            `late by ${span(event.late_by)}`) : null,
          event.redeliveries ? tag("gray", `redelivered ${event.redeliveries.count}×`) :
          null,
          event.source === "v1" ? tag("gray", "version 1") : null, isQuarantined ? tag("amber",
            `id ${event.id}`) : null)));
  }));
}

function toggle(list, view, event, isForced) {
  const item = list.querySelector(`[data-key="${key(event)}"]`);
  const button = item.querySelector("button");
  const isOpen = isForced || button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(isOpen));
  item.querySelector(".open")?.remove();
  if (isOpen) item.append(opened(event));
}

function opened(event) {
  const signed = event.signed_date;
  const fields = Object.entries(event.changes ?? {});
  const paid = event.money ? money(event.money.price, event.money.currency) : null;
  const lines = [
    ["Signed by Apple", signed === null ? "–" : exact(signed)],
    ["Received",
      `${exact(event.received_at)}${signed === null ? "" : `, ${span(event.received_at - signed)} later`}`
    ],
    event.late ? ["Late",
      `an event that Apple signed ${span(event.late_by)} later was received before it`
    ] : null,
    event.redeliveries ? ["Redelivered",
      `${event.redeliveries.count}×, last ${exact(event.redeliveries.last_at)}`
    ] : null,
    event.transaction_id ? ["Transaction", event.transaction_id] : null, paid ? ["Price",
    paid] : null,
    event.object === "quarantined" ? ["To admit it", `subledger quarantine admit ${event.id}`] : [
      "Journal", `seq ${event.seq}`
    ],
    ["Notification", event.notification_uuid ?? "–"],
  ].filter(Boolean);
  return h("div", { class: "open" },
    event.object === "quarantined" ? null : h("div", {}, h("h3", {}, "Changes"),
      fields.length ? table(["Field", "Before", "After"], fields.map(([name, it]) => [h(
      "code", {}, name), value(name, it.before), value(name, it.after)]), "diff") :
      h("p", { class: "soft" }, "The row did not change.")),
    h("dl", { class: "facts" }, lines.map(([name, text]) => h("div", {}, h("dt", {}, name), h(
      "dd", {}, text)))),
    h("div", {}, h("h3", {}, "Decoded payload"), h(
    "pre", { tabindex: "0", "aria-label": "Decoded payload" },
      event.payload ? JSON.stringify(event.payload, null, 2) : "The body cannot be recovered."
      )));
}

function value(name, it) {
  if (it === null || it === undefined) return "–";
  if (name === "price") return money(it.milliunits, it.currency);
  if (typeof it === "number" && name.endsWith("_at")) return exact(it);
  if (typeof it === "object") return Object.entries(it).filter(([, part]) => part !== null).map(([
    part, text
  ]) => `${part} ${text}`).join(", ");
  return String(it);
}
