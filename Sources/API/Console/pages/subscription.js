// One subscription, or other purchase: its row in a sentence, what its customer may use, the
// timeline with a slider, and all events.

import { address, ask, askAll, query, subscriptionAddress } from "./api.js";
import { card, facts, fill, h, id as shownId, link, longTime, many,
  minute, money, note, raw, since, sources, table, tag, time } from "./draw.js";
import { customerAddress, customerPath, entitlements, others, statusPill } from "./customer.js";
import { refunded } from "./event.js";
import { drawEvents, isEvent, show, sorted } from "./history.js";
import { drawTimeline, measure } from "./moment.js";
import { isConsumable, offer, ownership, rowStatus } from "./names.js";
import { breakpoints, extent, periods } from "./timeline.js";

export async function subscription(main, shown) {
  const [id, environment, bundle] = shown.rest;
  if (!environment || !bundle) return location.replace(address("find", [id ?? ""]));
  const path = `/v1/entitlements/${encodeURIComponent(id)}`;
  const where = { environment, bundle_id: bundle };
  const paths = { row: query(path, where), history: query(`${path}/history`,
    { ...where, raw: "true" }), purchases: query(`${path}/transactions`, where) };
  const [row, history, purchases] = await Promise.all([ask(paths.row), askAll(paths.history),
    askAll(paths.purchases)]);
  if (!shown.isShown()) return;
  if (!history) {
    return main.replaceChildren(h("div", { class: "stack" }, note("amber",
      "Nothing is known under this id in this app and environment."),
    link(address("find", [id]), "Search everywhere")));
  }
  const customer = row ? await ask(customerPath(row)).catch(() => null) : null;
  if (!shown.isShown()) return;
  const view = { id, ...where, row, now: row?.as_of ?? Date.now(), asOf: null, paths, band: [],
    lanes: [], answers: new Map(), items: sorted(history.items) };
  view.events = view.items.filter(isEvent);
  view.paid = periods(view.events);
  view.range = extent(view.events, view.paid, view.now);
  // Before anything was signed there is no row.
  const first = Math.min(...view.events.filter((it) => it.object === "event")
    .map((it) => it.signed_date ?? 0));
  view.at = (time) => {
    if (time < first) return Promise.resolve(null);
    if (!view.answers.has(time)) {
      view.answers.set(time, ask(query(path, { ...where, as_of: Math.round(time) })));
    }
    return view.answers.get(time);
  };
  draw(main, view, shown, history, customer, purchases?.items ?? []);
  const every = breakpoints(view.events, view.paid, row ? [row] : [], view.range);
  view.band = await measure(every, 160, view.range[1], view.at, (it) => it?.status,
    shown.isShown);
  if (!shown.isShown()) return;
  view.lanes = lanes(view.band);
  view.slider.draw();
}

function draw(main, view, shown, history, customer, purchases) {
  const parts = {
    answer: h("section", { class: "card", "aria-labelledby": "who" }),
    timeline: h("section", { class: "card", "aria-labelledby": "h-timeline" }),
    list: h("ol", { class: "events" }), customer: h("div", {}),
  };
  view.customer = customer;
  drawCustomer(parts.customer, customer);
  main.replaceChildren(h("div", { class: "stack" }, parts.answer,
    customer ? [parts.customer, others(customer, view.row)] : null, parts.timeline,
    card("Events", h("span", { class: "soft small" }, `${many(view.events.length, "event")}, `,
      "newest first, by the time of signing"), parts.list, history.more_quarantined
      ? note("amber", "Quarantine holds more notifications about this subscription than are shown.")
      : null),
    transactions(purchases, view),
    view.row ? raw(view.row, "Raw JSON of the row") : null,
    sources(...Object.values(view.paths), ...(customer ? [customerPath(view.row)] : []))));
  drawAnswer(parts.answer, view, view.row);
  drawEvents(parts.list, view.items, () => view.paths.history);
  view.slider = drawTimeline(parts.timeline, view, slider(parts, view));
  const resized = () => view.slider.draw();
  window.addEventListener("resize", resized);
  shown.end = () => window.removeEventListener("resize", resized);
  // The event that a link asks for.
  const wanted = view.events.find((it) => String(it.seq) === shown.query.event);
  if (wanted) show(parts.list, wanted)?.scrollIntoView({ block: "center" });
}

/// When the row gave access.
function lanes(band) {
  const parts = band.filter((it) => it.value && !isConsumable(it.value)).map(
    ({ from, to, value }) => ({ from, to, words: rowStatus(value)[0], tone: rowStatus(value)[1],
      isFull: value.gives_access }));
  return parts.length ? [{ name: "Access", parts }] : [];
}

/// What the slider shows of a moment.
function slider(parts, view) {
  const tell = (row) => {
    drawAnswer(parts.answer, view, row);
    return row ? rowStatus(row)[0] : "no row";
  };
  return {
    list: parts.list,
    choose: (event) => show(parts.list, event)?.querySelector("button")?.focus(),
    tell: (time) => {
      if (time === null) {
        drawCustomer(parts.customer, view.customer);
        return tell(view.row);
      }
      const known = view.band.find((it) => it.from <= time && time < it.to)?.value;
      return known ? tell(known) : undefined;
    },
    confirm: async (time, isShown) => {
      const row = await view.at(time).catch(() => undefined);
      if (!isShown()) return undefined;
      const words = row === undefined ? undefined : tell(row);
      if (view.customer) {
        ask(`${customerPath(view.row)}&as_of=${Math.round(time)}`).catch(() => null)
          .then((then) => then && isShown() && drawCustomer(parts.customer, then, time));
      }
      return words;
    },
  };
}

/// Each purchase with its price and what was given back, the newest first.
function transactions(purchases, view) {
  const list = [...purchases].reverse();
  if (!list.length) return null;
  const amount = (milliunits, it) => (milliunits === null ? "–"
    : money(milliunits, it.price?.currency));
  return card("Transactions", h("span", { class: "soft small" },
    `${many(list.length, "purchase")}, as of now`),
  table(["Purchased", "Product", "Price", "Refunded", "Ended", "Transaction"], list.map((it) => [
    time(it.purchased_at), it.product_id ?? "–", amount(it.price?.milliunits ?? null, it),
    it.revoked_at ? amount(it.refunded, it) : "",
    it.ended_at === null ? "Never" : [it.ended_at > view.now ? "runs until " : "",
      time(it.ended_at), it.replaced_by ? h("span", { class: "soft small block" },
        "for another product") : null],
    [shownId(it.transaction_id), it.other_transaction_ids.map((other) => [" ",
      shownId(other)])]]), "stacked"));
}

/// What the customer may use by name, at the time of the slider.
const drawCustomer = (holder, customer, at = null) => customer && holder.replaceChildren(
  entitlements(customer, at === null ? "Entitlements of this customer now"
    : `Entitlements of this customer as of ${minute(at)}`));

// MARK: The row in a sentence

/// - isFuture: the row is evaluated at a time to come.
function sentence(row, isFuture, isUnmapped) {
  const isOver = row.status === "expired" || row.status === "revoked";
  const price = row.price ? money(row.price.milliunits, row.price.currency) : null;
  const ends = row.expires_at ? longTime(row.expires_at) : null;
  const renews = row.auto_renew === false ? ", and it will not renew" : row.auto_renew
    ? `, and then renews automatically${row.pending_product_id ? ` as ${row.pending_product_id}`
      : ""}` : "";
  // To the product: what the customer's entitlements are is in the card below.
  const has = isUnmapped ? `Paid for ${row.product_id}, for which the configuration gives nothing`
    : `Has access to ${row.product_id ?? "the product"}`;
  const text = {
    active: !row.gives_access ? "Bought, and gives no access, as no consumable does." : ends
      ? `${has}. The period that began on ${longTime(row.starts_at)} ends on ${ends}${renews}.`
      : `${has}, with no end date.`,
    grace_period: `${has}, although Apple could not charge the customer: the grace period ` +
      `runs until ${row.grace_period_expires_at ? longTime(row.grace_period_expires_at)
        : "its end"}.`,
    billing_retry: `No access. ${ends ? `It was paid until ${ends}; ` : ""}Apple is still trying ` +
      "to charge the customer.",
    expired: `No access${ends ? `: the last period ended on ${ends}` : ""}.`,
    revoked: `No access: ${revoked[row.ownership] ?? refund(row)}${
      row.revoked_at ? ` on ${longTime(row.revoked_at)}` : ""}.`,
  }[row.status] ?? `The status is ${row.status}.`;
  return [isFuture ? "Unless another event arrives:" : null, text,
    price ? `The price ${isOver ? "was" : "is"} ${price}.` : null, ownership(row.ownership),
    row.offer ? `Bought with ${offer(row.offer.type)}${row.offer.identifier
      ? ` (${row.offer.identifier})` : ""}${row.status === "active" ? trial(row) : ""}.` : null,
    row.price_increase === "pending" ? "A price increase is waiting for consent."
      : row.price_increase === "accepted" ? "The price increase was accepted." : null,
    row.gap ? "At least one paid period is missing: no notification about it was delivered." : null,
  ].filter(Boolean).join(" ");
}

/// Of a free trial that runs, what comes after it.
function trial(row) {
  if (row.offer.discount_type !== "FREE_TRIAL") return "";
  const price = row.auto_renew && row.renewal_price;
  return `: free trial${price ? `, then ${money(price.milliunits, price.currency)}` : ""}`;
}

/// What Apple gave back, where that is not all.
function refund(row) {
  const share = row.revocation_percentage;
  if (share === null || share === undefined || share === 100000) {
    return "Apple refunded the purchase";
  }
  const back = row.price ? `, ${money(refunded(row.price.milliunits, share), row.price.currency)},`
    : "";
  return `Apple refunded ${share / 1000} % of the price${back}`;
}

const revoked = { FAMILY_SHARED: "family sharing ended",
  ASSIGNED: "the assigned seat was withdrawn" };

/// The facts of a row: name, what is shown, and the value that is compared.
function members(row) {
  const end = row.period_ends_at ?? row.expires_at;
  const date = (ms) => time(ms);
  const period = [row.starts_at, end];
  return [
    ["Product", row.product_id ?? "–", row.product_id],
    ["Current period", row.starts_at === null ? "–" : [date(row.starts_at), " to ",
      end === null ? "no end" : date(end)], String(period)],
    row.expires_at !== end || row.expires_at === null ? ["Expires", row.expires_at === null
      ? "Never" : date(row.expires_at), row.expires_at] : null,
    row.grace_period_expires_at === null ? null : ["Grace period until",
      date(row.grace_period_expires_at), row.grace_period_expires_at],
    row.revoked_at === null ? null : [rowStatus({ ...row, status: "revoked" })[0],
      date(row.revoked_at), row.revoked_at],
    ["Auto-renew", row.auto_renew === null ? "–" : row.auto_renew ? "On" : "Off", row.auto_renew],
    row.pending_product_id ? ["Next product", row.pending_product_id, row.pending_product_id]
      : null,
    ["Price", row.price ? money(row.price.milliunits, row.price.currency) : "–",
      JSON.stringify(row.price)],
    row.renewal_price ? ["Next price", money(row.renewal_price.milliunits,
      row.renewal_price.currency), JSON.stringify(row.renewal_price)] : null,
    row.renewal_offer ? ["Next offer", offer(row.renewal_offer.type),
      JSON.stringify(row.renewal_offer)] : null,
    row.win_back_offers?.length ? ["Win-back offers", row.win_back_offers.join(", "),
      String(row.win_back_offers)] : null,
    ["Type", row.product_type ?? "–", row.product_type],
    ["Ownership", row.ownership ?? "–", row.ownership],
    ["Transaction", row.transaction_id ? shownId(row.transaction_id, "transaction id") : "–",
      row.transaction_id],
    ["App account token", row.app_account_token ? shownId(row.app_account_token,
      "app account token") : "–", row.app_account_token],
    ["App transaction id", row.app_transaction_id ? shownId(row.app_transaction_id,
      "app transaction id") : "–", row.app_transaction_id],
    row.confirmed_at ? ["Confirmed by Apple", since(row.confirmed_at, row.as_of),
      row.confirmed_at] : null,
    ...Object.entries(row).filter(([name, value]) => value !== null && !placed.has(name))
      .map(([name, value]) => [label(name), `${value}`, value]),
  ].filter(Boolean);
}

// What is drawn above, or says nothing of the purchase; any other member has its name as a label.
const placed = new Set(["object", "environment", "bundle_id", "original_transaction_id",
  "transaction_id", "product_id", "product_type", "ownership", "status", "gives_access",
  "starts_at", "expires_at", "grace_period_expires_at", "revoked_at", "auto_renew",
  "pending_product_id", "gap", "app_account_token", "app_transaction_id", "subscription_group_id",
  "offer", "price", "price_increase", "commitment", "succeeded_by", "as_of", "known_at",
  "event_count", "last_event", "period_ends_at", "confirmed_at", "accounts", "account_count",
  "shared_by_accounts", "anomaly", "revocation_percentage", "renewal_price", "renewal_offer",
  "win_back_offers"]);

function label(name) {
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

/// Whether names are configured, and none follows from what was bought here.
const isUnmapped = (customer, row) => Object.values(customer?.entitlements ?? {}).some((it) =>
  it.reason === "unmapped" && it.original_transaction_id === row.original_transaction_id);

function drawAnswer(section, view, row) {
  const isNow = view.asOf === null;
  const then = new Map((view.row ? members(view.row) : []).map(([name, , value]) => [name, value]));
  const isChanged = (name, value) => !isNow && view.row && then.get(name) !== value;
  fill(section, h("div", { class: "who" }, h("h1", { id: "who" }, row?.product_id ??
    view.row?.product_id ?? "No row"), row ? statusPill(row) : tag("gray", "no row"),
  isNow ? null : tag("blue", `as of ${minute(view.asOf)}`)),
  h("p", { class: "soft small ids" }, view.customer ? link(customerAddress(view.row),
    "Customer") : null, shownId(view.id, "original transaction id"),
    h("span", {}, view.bundle_id), tag(view.environment === "Production" ? "blue" : "gray",
      view.environment)),
  h("p", { class: "sentence" }, row ? sentence(row, !isNow && view.asOf > view.now, isNow && isUnmapped(view.customer, row))
    : isNow
    ? "No row: no journaled event contains a purchase."
    : "At that time Apple had not reported a purchase yet."),
  row?.succeeded_by ? h("p", {}, "Succeeded by ", link(subscriptionAddress({ ...row,
    original_transaction_id: row.succeeded_by }), row.succeeded_by), ".") : null,
  row ? facts(members(row).map(([name, it, value]) => [name, it, isChanged(name, value)])) : null);
}
