// A customer: found by any id, with entitlements by name (GET /v1/customers) and all purchases.

import { address, ask, askAll, each, may, need, query, scope, subscriptionAddress } from "./api.js";
import { card, code, command, empty, h, heading, id as shownId, link, many, minute, money, note,
  pill, raw, soft, sources, table, tag, time } from "./draw.js";
import { askGrants, grants, grantTimes } from "./grants.js";
import { drawEvents, isEvent, show, sorted } from "./history.js";
import { drawTimeline, measure } from "./moment.js";
import { bases, rowStatus } from "./names.js";
import { rows as list } from "./subscriptions.js";
import { breakpoints, extent, periods } from "./timeline.js";

const environments = ["Production", "Sandbox"];

// MARK: Finding

export async function find(main, { rest: [id], isShown }) {
  document.getElementById("q").value = id ?? "";
  main.replaceChildren(h("p", { class: "soft", role: "status" }, "Searching…"));
  const [rows, customers] = await Promise.all([search(id ?? ""), accounts(id ?? "")]);
  if (!isShown()) return;
  const only = rows.length + customers.length === 1;
  if (only) {
    return location.replace(rows.length ? subscriptionAddress(rows[0]) : customers[0].href);
  }
  const order = id?.replace(/\s/g, "") ?? "";
  const isPossible = !rows.length && !customers.length && may("lookup") && isOrderId(order);
  const draw = (asked) => main.replaceChildren(h("div", { class: "stack" }, heading("Find"),
    rows.length || customers.length
      ? [customers.map((it) => h("p", {}, "A customer: ", link(it.href, it.title))),
        rows.length ? card(`${rows.length} purchases have this id`, null, list(rows)) : null]
      : [asked.shown, asked.isFound ? null : nothing(id, asked.isAsked)]));
  const askApple = async () => {
    draw({ shown: note("", "Asking Apple for this order id…"), isAsked: true });
    const asked = await lookUp(order);
    if (isShown()) draw({ ...asked, isAsked: true });
  };
  // What cannot be mistaken for something else is asked for at once.
  if (isPossible && /^M[0-9A-Z]{7,}$/i.test(order)) return askApple();
  draw({ shown: isPossible ? h("p", {}, h("button", { type: "button", id: "ask",
    onclick: askApple }, "Ask Apple for this order id")) : null });
}

/// An order id has letters, the id of a transaction digits alone.
const isOrderId = (id) => /^[0-9A-Za-z]{1,64}$/.test(id) && /[A-Za-z]/.test(id);

/// What Apple says of an order id.
async function lookUp(id) {
  try {
    const { items } = await need(`/v1/orders/${id.toUpperCase()}`);
    if (!items.length) {
      return { shown: note("amber", "Apple does not know this order id. Compare it with the mail: ",
        "one character may differ, or it is of another app.") };
    }
    const shown = card("Apple knows this order", h("span", { class: "soft small" }, "asked now"),
      h("ul", { class: "rows" }, items.map((it) => h("li", {}, it.journaled
        ? link(subscriptionAddress(it), it.original_transaction_id)
        : h("span", { class: "id" }, it.original_transaction_id),
      h("span", { class: "soft" }, it.product_ids.join(", "), ", ",
        many(it.transactions, "transaction")), it.journaled ? null : h("div", {},
        soft("It is not in this ledger. Who runs it can fetch it from Apple:"),
        command(`echo ${it.original_transaction_id} > ids && subledger import ids`))))));
    return { shown, isFound: true };
  } catch (error) {
    return { shown: note("red", error.detail) };
  }
}

const nothing = (id, isAsked) => card(id ? `Nothing is known under “${id}”` : "Enter an id", null,
  h("ul", { class: "plain" },
    h("li", {}, "Transaction ids, notification UUIDs, app account tokens, app transaction ids and ",
      "your own account names are found. A token that is limited to some apps or environments ",
      "only finds those."),
    isAsked ? null : h("li", {}, "The order id of a customer’s mail, and what no notification told of, is known to ",
      "Apple alone. To ask Apple:",
      command(`subledger lookup ${/^[0-9A-Za-z]{1,64}$/.test(id) ? id.toUpperCase() : "ID"}`))));

/// Every row with this id, whatever the id is. Where there is only a history (everything is in
/// quarantine), its key stands for the row.
async function search(id) {
  if (!id) return [];
  const found = new Map();
  const add = (row) => found.set(subscriptionAddress(row), row);
  (await ask(query("/v1/search", { id }))).items.forEach(add);
  const name = isUUID(id) ? "app_account_token" : "app_transaction_id";
  (await ask(query("/v1/entitlements", { [name]: id }))).items.forEach(add);
  return found.size < 2 ? [...found.values()] : Promise.all([...found.values()].map(whole));
}

/// The row of a key: a customer's rows are asked for by a route that has no 404.
async function whole(key) {
  if (key.object === "entitlement") return key;
  const { original_transaction_id: id, environment, bundle_id } = key;
  const it = await ask(query(`/v1/customers/${encodeURIComponent(id)}`,
    { by: "original_transaction_id", environment, bundle_id })).catch(() => null);
  return [...it?.subscriptions ?? [], ...it?.purchases ?? []].find((row) =>
    row.original_transaction_id === id) ?? key;
}

const isUUID = (id) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);

/// The customers who have more than one row, or none, under an id of yours.
async function accounts(id) {
  const kinds = isUUID(id) ? ["app_account_token", "account"] : ["account"];
  const found = [];
  for (const by of id.length && id.length <= 128 ? kinds : []) {
    for (const environment of environments) {
      const path = query(`/v1/customers/${encodeURIComponent(id)}`, { by, environment });
      const it = await ask(path).catch(() => null);
      if (!it?.known || (by !== "account" && it.subscriptions.length + it.purchases.length < 2)) {
        continue;
      }
      found.push({ href: address("customer", [by, id], { environment }),
        title: `${id}, ${names[by]}, ${environment}` });
    }
  }
  return found;
}

// MARK: One customer

const names = { app_account_token: "app account token", app_transaction_id: "app transaction id",
  account: "your account", original_transaction_id: "original transaction id" };
/// The newest purchases of a customer whose events are shown.
const most = 20;
/// Moments that the names of a customer are asked of.
const moments = 240;

export async function customer(main, shown) {
  const [by, id] = shown.rest;
  const path = query(`/v1/customers/${encodeURIComponent(id)}`, { by,
    environment: scope.environment === "both" ? "Production" : scope.environment });
  const found = await ask(path);
  if (!shown.isShown()) return;
  const rows = [...found.subscriptions, ...found.purchases];
  const newest = rows.sort((a, b) => (b.starts_at ?? 0) - (a.starts_at ?? 0)).slice(0, most);
  const [said, parts] = await Promise.all([askGrants(found), each(newest, purchased)]);
  if (!shown.isShown()) return;
  const view = { path, found, said, rows, newest, now: found.as_of ?? Date.now(), asOf: null,
    band: [], lanes: [], answers: new Map(), items: merged(parts),
    lines: parts.flatMap((it) => it.lines) };
  view.events = view.items.filter(isEvent);
  view.paid = parts.flatMap((it) => periods(it.items.filter(isEvent)))
    .sort((a, b) => a.from - b.from);
  view.range = extent(view.events, view.paid, view.now);
  view.at = (time) => {
    if (!view.answers.has(time)) {
      view.answers.set(time, ask(`${path}&as_of=${Math.round(time)}`));
    }
    return view.answers.get(time);
  };
  draw(main, view, shown);
  if (!rows.length || !Object.keys(found.entitlements).length) return;
  // A changed mapping and time alone end a name, too.
  const changes = [...view.items.filter((it) => !isEvent(it)).map((it) => it.at), view.now,
    ...grantTimes(said)].filter((at) => at >= view.range[0] && at <= view.range[1]);
  const every = breakpoints(view.events, view.paid, rows, view.range);
  view.band = await measure([...new Set([...every, ...changes])]
    .sort((a, b) => a - b), moments, view.range[1], view.at, (it) => JSON.stringify(active(it)),
  shown.isShown);
  if (!shown.isShown()) return;
  view.lanes = lanes(view);
  view.slider.draw();
}

/// The events and the transactions of one purchase.
async function purchased(row) {
  const path = `/v1/entitlements/${encodeURIComponent(row.original_transaction_id)}`;
  const where = { environment: row.environment, bundle_id: row.bundle_id };
  const [history, lines] = await Promise.all([askAll(query(`${path}/history`,
    { ...where, raw: "true" })), askAll(query(`${path}/transactions`, where))]);
  return { items: (history?.items ?? []).map((it) => ({ ...it, row,
    of: row.original_transaction_id })),
  lines: (lines?.items ?? []).map((it) => ({ ...it, row })) };
}

/// All events, and each change of the mapping once.
function merged(parts) {
  const told = new Set();
  return sorted(parts.flatMap((it) => it.items).filter((item) => {
    if (isEvent(item) || item.object === "transition") return true;
    const text = `${item.at} ${item.words}`;
    return !told.has(text) && told.add(text);
  }));
}

function draw(main, view, shown) {
  const { found } = view;
  const parts = {
    timeline: h("section", { class: "card", "aria-labelledby": "h-timeline" }),
    list: h("ol", { class: "events" }), names: h("div", {}, entitlements(found)),
  };
  const again = () => {
    if (!shown.isShown()) return;
    shown.end?.();
    customer(main, shown).then(() => main.focus({ preventScroll: true }));
  };
  main.replaceChildren(h("div", { class: "stack" },
    heading("Customer", { aside: tag(found.environment === "Production" ? "blue" : "gray",
      found.environment) }),
    soft(`By ${names[found.by] ?? found.by}: `, shownId(found.id), alsoKnown(view)),
    found.known ? null : note("amber", "Nothing is known under this id. That says nothing about ",
      "access: Apple may not have told of the customer yet."),
    parts.names, grants(view, again),
    view.events.length ? parts.timeline : null,
    found.subscriptions.length ? card("Subscriptions", null, list(found.subscriptions)) : null,
    found.purchases.length ? card("Purchases", null, list(found.purchases), found.more_purchases
      ? soft("There are more, of consumables, than are listed.") : null) : null,
    sums(view),
    view.events.length ? card("Events", h("span", { class: "soft small" },
      `${many(view.events.length, "event")}, newest first, by the time of signing`), parts.list,
    view.rows.length > most ? soft(`Timeline, money and events are of the ${most} newest of ${
      view.rows.length} purchases. The others have pages of their own.`) : null) : null,
    raw(found), sources(view.path)));
  if (!view.events.length) return;
  const isMixed = view.newest.length > 1;
  drawEvents(parts.list, view.items, (it) => query(`/v1/entitlements/${
    encodeURIComponent(it.row.original_transaction_id)}/history`, { raw: "true",
    environment: it.row.environment, bundle_id: it.row.bundle_id }), (it) => (isMixed
    ? h("a", { class: "id", href: subscriptionAddress(it.row), title: "The subscription" }, it.of)
    : null));
  view.slider = drawTimeline(parts.timeline, view, slider(parts, view));
  const resized = () => view.slider.draw();
  window.addEventListener("resize", resized);
  shown.end = () => window.removeEventListener("resize", resized);
}

/// The other ids of his purchases: what was granted stands under the id that it was granted to.
function alsoKnown({ found, rows }) {
  const all = rows.flatMap((row) => [...(row.accounts ?? []).map((it) => ["account", it]),
    ["app_account_token", row.app_account_token], ["app_transaction_id", row.app_transaction_id]])
    .filter(([by, id]) => id && !(by === found.by && id === found.id));
  const distinct = [...new Map(all.map((it) => [it.join(" "), it])).values()];
  return distinct.length ? [". Also known by ", distinct.map(([by, id], at) => [at ? ", " : "",
    `${names[by]} `, link(address("customer", [by, id], { environment: found.environment }), id)])]
    : null;
}

// MARK: Names at a moment

/// The names that are active in an answer, each with why.
const active = (found) => Object.entries(found?.entitlements ?? {})
  .filter(([, it]) => it.active).map(([name, it]) => [name, it.basis]);

const tones = { paid: "green", one_time: "green", granted: "violet", family: "blue",
  assigned: "blue" };

/// When each name was active, and why.
function lanes({ band, found }) {
  return Object.keys(found.entitlements).map((name) => ({ name, parts: band.flatMap(
    ({ from, to, value }) => {
      const it = value?.entitlements[name];
      return it?.active ? [{ from, to, words: bases[it.basis] ?? it.basis, isFull: true,
        tone: tones[it.basis] ?? "amber" }] : [];
    }).reduce((joined, part) => {
    const last = joined.at(-1);
    if (last && last.to === part.from && last.words === part.words) last.to = part.to;
    else joined.push(part);
    return joined;
  }, []) })).filter(({ parts }) => parts.length);
}

function slider(parts, view) {
  const tell = (then, time) => {
    parts.names.replaceChildren(entitlements(then, time === null ? "Entitlements"
      : `Entitlements as of ${minute(time)}`));
    return active(then).map(([name]) => name).join(", ") || "no entitlement";
  };
  return {
    list: parts.list,
    choose: (event) => show(parts.list, event)?.querySelector("button")?.focus(),
    tell: (time) => {
      if (time === null) return tell(view.found, null);
      const known = view.band.find((it) => it.from <= time && time < it.to)?.value;
      return known ? tell(known, time) : undefined;
    },
    confirm: async (time, isShown) => {
      const then = await view.at(time).catch(() => null);
      return then && isShown() ? tell(then, time) : undefined;
    },
  };
}

// MARK: Money

/// What was paid and given back, by currency, by Apple's prices. What is shared was not paid here.
function sums({ lines }) {
  const all = new Map();
  for (const it of lines) {
    if (!it.price || ["FAMILY_SHARED", "ASSIGNED"].includes(it.row.ownership)) continue;
    const sum = all.get(it.price.currency) ?? { count: 0, paid: 0, refunded: 0 };
    sum.count += 1;
    sum.paid += it.price.milliunits;
    sum.refunded += it.refunded ?? 0;
    all.set(it.price.currency, sum);
  }
  if (!all.size) return null;
  return card("Money", h("span", { class: "soft small" },
    "by the prices that Apple signed, before its commission and taxes"),
  table(["Currency", "Purchases", "Paid", "Given back", "Kept"], [...all].map(
    ([currency, it]) => [currency, it.count, money(it.paid, currency),
      money(it.refunded, currency), money(it.paid - it.refunded, currency)]), "stacked"));
}

/// What a customer may use by name.
export function entitlements(found, title = "Entitlements") {
  const all = Object.entries(found.entitlements);
  return card(title, null, all.length ? h("ul", { class: "rows", id: "entitlements" },
    all.map(([name, it]) => h("li", {}, h("b", {}, name),
      it.active ? pill("green", "Active") : pill("gray", "Not active"),
      h("span", { class: "soft" }, it.active ? until(it, found) : why(it, found)),
      it.original_transaction_id ? h("span", { class: "small end" }, it.active ? "by " : "",
        h("a", {
        href: subscriptionAddress({ ...it, environment: found.environment,
          bundle_id: bundle(found, it) }) }, it.product_id ?? it.original_transaction_id))
        : null))) : empty("The configuration names no entitlement",
    "Say in ", code("entitlements"), " which products give what, and it is answered here by name: ",
    code("subledger help configuration"), "."));
}

/// The app of the row that gives an entitlement.
const bundle = (found, it) => [...found.subscriptions, ...found.purchases].find((row) =>
  row.original_transaction_id === it.original_transaction_id)?.bundle_id ?? "";

/// Why an entitlement is not active.
function why(it, found) {
  const other = found.environment === "Production" ? "Sandbox" : "Production";
  return {
    never_bought: "nothing that gives it was bought", unknown: "nothing is known",
    ended: ["ended ", time(it.ended_at)], refunded: ["refunded ", time(it.ended_at)],
    billing_retry: ["Apple cannot charge the customer; paid until ", time(it.ended_at)],
    unmapped: `${it.product_id} gives none of these`, other_app: "known in another app alone",
    other_environment: ["known in ", link(address("customer", [found.by, found.id],
      { environment: other }), other), " alone"],
  }[it.reason] ?? it.reason ?? "";
}

/// Why an entitlement is active; of a free trial, what comes after it.
function basisOf(it, found) {
  if (!it.trial) return bases[it.basis] ?? it.basis;
  const price = found.subscriptions.find((row) =>
    row.original_transaction_id === it.original_transaction_id)?.renewal_price;
  const then = it.will_renew && price ? money(price.milliunits, price.currency) : null;
  return then ? `free trial, then ${then}` : "free trial";
}

function until(it, found) {
  const basis = basisOf(it, found);
  // A grace period ends at a time of its own: Apple tries to charge before, and not at it.
  const end = it.expires_at ? [it.will_renew && it.basis !== "grace" ? " renews " : " until ",
    time(it.expires_at)]
    : ", without end";
  const next = it.next && it.next.at !== it.expires_at ? [it.next.active ? "; active from "
    : "; by time alone not active from ", time(it.next.at)] : null;
  return [basis, it.expires_at ? "," : "", end, next];
}

/// Other purchases of the customer who has a row.
export function others(found, row) {
  const rest = [...found.subscriptions, ...found.purchases].filter((it) =>
    it.original_transaction_id !== row.original_transaction_id);
  if (!rest.length) return null;
  return card("Other purchases of this customer", link(address("customer", [found.by, found.id],
    { environment: found.environment }), "Customer"), list(rest));
}

/// By which id the customer of a row is asked about: the most specific one that names him.
const nameOf = (row) => (row.accounts?.length ? ["account", row.accounts[0]]
  : row.app_account_token ? ["app_account_token", row.app_account_token]
    : row.app_transaction_id ? ["app_transaction_id", row.app_transaction_id]
      : ["original_transaction_id", row.original_transaction_id]);

export function customerPath(row) {
  const [by, id] = nameOf(row);
  return query(`/v1/customers/${encodeURIComponent(id)}`, { by, environment: row.environment,
    bundle_id: row.bundle_id });
}

export const customerAddress = (row) => address("customer", nameOf(row),
  { environment: row.environment });

export const statusPill = (row) => pill(rowStatus(row)[1], rowStatus(row)[0]);
