// One event as a line that opens: in the list of all events, in one subscription's, in quarantine.

import { code, copyButton, dot, exact, facts, h, money, span, table, tag, time } from "./draw.js";
import { arrivals, isOwners, kind, sourceName } from "./names.js";

/// Types whose transaction was charged, and those whose was paid back.
const charges = new Set(["SUBSCRIBED", "DID_RENEW", "ONE_TIME_CHARGE", "OFFER_REDEEMED",
  "INITIAL_BUY", "RENEWAL", "DID_RECOVER", "INTERACTIVE_RENEWAL"]);
const refunds = new Set(["REFUND", "CANCEL"]);

/// The product and the amount of an event, from its decoded payload.
export function purchase(event) {
  const payload = event.payload ?? {};
  const it = payload.data?.signedTransactionInfo ?? (payload.transactionId ? payload : {});
  const product = it.productId ?? payload.data?.signedRenewalInfo?.productId ??
    payload.productId ?? payload.unified_receipt?.latest_receipt_info?.[0]?.product_id ?? null;
  const amount = money(it.price, it.currency);
  const type = event.notification_type ?? "";
  const back = money(refunded(it.price, it.revocationPercentage), it.currency);
  const isCharged = charges.has(type) || event.subtype === "UPGRADE";
  const signed = refunds.has(type) ? `−${back}` : isCharged ? amount : null;
  return { product, amount: amount && signed };
}

/// What a refund gave back of a price: Apple says the share in thousandths of a percent, or nothing
/// if it is all.
export const refunded = (price, share) => (price === null || price === undefined ? null
  : Math.round(price * (share ?? 100000) / 100000));

/// - shown: the time that is shown, and that the list is sorted by.
/// - words: what happened; `code` is what Apple calls it.
/// - open: makes what is shown below the line.
/// - aside: what follows product and amount.
export function line({ key, shown, tone, isSquare, words, name, product, amount, tags, open,
  aside }) {
  const button = h("button", { type: "button", "aria-expanded": "false" },
    h("span", { class: "chevron", "aria-hidden": "true" }), dot(tone, isSquare ? "square" : ""),
    h("span", { class: "soft time" }, time(shown)),
    h("span", { class: "what" }, h("b", {}, words), name && name !== words ?
      h("span", { class: "code" }, name) : null, h("span", { class: "tags" }, tags)),
    h("span", { class: "sum" }, amount ? h("span", { class: "num" }, amount) : null,
      h("span", { class: "soft small" }, product)));
  const item = h("li", { "data-key": key, "data-time": shown }, h("div", { class: "line" }, button,
    aside));
  item.setOpen = (isOpen) => {
    button.setAttribute("aria-expanded", String(isOpen));
    item.querySelector(".open")?.remove();
    if (isOpen) item.append(open());
  };
  button.addEventListener("click", () => item.setOpen(
    button.getAttribute("aria-expanded") !== "true"));
  return item;
}

export const typeName = (event) => [event.notification_type, event.subtype].filter(Boolean)
  .join(" / ");
export const tone = (event) => (event.object === "quarantined" ? "amber"
  : kind(event.notification_type)[1]);

export function tags(event) {
  const { count: copies } = event.redeliveries ?? {};
  return [
    event.late ? tag("amber", `late by ${span(event.late_by)}`) : null,
    copies ? tag("gray", copies === 1 ? "1 duplicate" : `${copies} duplicates`) : null,
    sourceName(event.source) ? tag("gray", sourceName(event.source)) : null,
    arrivals[event.arrival] ? tag("gray", arrivals[event.arrival]) : null,
    event.object === "quarantined" ? tag("amber", `id ${event.id}`) : null,
  ];
}

/// What is shown below an open line.
/// - curl: the command that asks for the event.
export function opened(event, curl) {
  const { signed_date: signed, redeliveries } = event;
  const paid = event.money ? money(event.money.price, event.money.currency) : null;
  const wasLater = (ms) => (signed === null ? "" : `, ${span(ms - signed)} later`);
  return h("div", { class: "open" }, event.changes ? changes(event.changes) : null,
    facts([
      isOwners(event) ? ["Said by", [event.payload?.token ?? "you", ", ", time(signed, exact)]]
        : ["Signed by Apple", time(signed, exact)],
      ["Received", [time(event.received_at, exact), wasLater(event.received_at)]],
      event.late ? ["Late", `An event that Apple signed ${span(event.late_by)} later was received ` +
        "before it."] : null,
      redeliveries ? ["Duplicates", [`${redeliveries.count}, last `,
        time(redeliveries.last_at, exact)]] : null,
      event.transaction_id ? ["Transaction", event.transaction_id] : null,
      paid ? ["Price", paid] : null,
      refunds.has(event.notification_type) && paid ? ["Refunded",
        money(event.money.refunded_milliunits, event.money.currency)] : null,
      event.object === "quarantined" ? ["To admit it", code(`subledger quarantine admit ${event.id}`)]
        : ["Journal", `seq ${event.seq}`],
      ["Notification UUID", event.notification_uuid ?? "–"],
    ]), event.source === "catalog" && event.payload ? mapping(event.payload) : null,
    payload(event, curl));
}

/// What a mapping of products says that the one before it did not, and the other way round.
function mapping(said) {
  const lines = (names, durations) => [...Object.entries(names ?? {}).flatMap(([name, it]) => [
    ...it.products.map((product) => `${name}: ${product}`),
    ...(it.access_leeway_ms ? [`${name}: leeway of ${span(it.access_leeway_ms)}`] : [])]),
  ...Object.entries(durations ?? {}).map(([product, it]) => `${product} lasts ${span(it.lasts_ms)}${
    it.again ? ", and adds up when bought again" : ""}`)];
  const now = lines(said.entitlements, said.durations);
  const then = lines(said.before, said.durations_before);
  const changed = [...now.filter((it) => !then.includes(it)).map((it) => `+ ${it}`),
    ...then.filter((it) => !now.includes(it)).map((it) => `− ${it}`)];
  return h("div", {}, h("h3", {}, "Mapping"), h("pre", { tabindex: "0", "aria-label": "Mapping" },
    changed.length ? changed.join("\n") : "The same as before."));
}

function changes(changed) {
  const fields = Object.entries(changed);
  return h("div", {}, h("h3", {}, "Changes"), fields.length ?
    table(["Field", "Before", "After"], fields.map(([name, it]) => [h("code", {}, name),
      value(name, it.before), value(name, it.after)]), "diff") :
    h("p", { class: "soft" }, "The row did not change."));
}

function payload(event, curl) {
  const text = event.payload ? JSON.stringify(event.payload, null, 2) : null;
  const title = isOwners(event) ? "As you said it" : "Decoded payload";
  return h("div", {}, h("div", { class: "head" }, h("h3", {}, title),
    h("span", { class: "copies" }, text ? copyButton(text, "Copy JSON") : null,
      curl ? copyButton(curl, "Copy as curl") : null)),
  h("pre", { tabindex: "0", "aria-label": title },
    text ?? "The body cannot be recovered."));
}

function value(name, it) {
  if (it === null || it === undefined) return "–";
  if (it.milliunits !== undefined) return money(it.milliunits, it.currency);
  if (typeof it === "number" && name.endsWith("_at")) return time(it, exact);
  if (typeof it === "object") {
    return Object.entries(it).filter(([, part]) => part !== null)
      .map(([part, text]) => `${part} ${text}`).join(", ");
  }
  return String(it);
}
