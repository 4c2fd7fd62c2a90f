// Events of one subscription, or of one customer, newest first: equal ones in a row are one line.

import { curlCommand } from "./api.js";
import { day, h, tag, time } from "./draw.js";
import { line, opened, purchase, tags, tone, typeName } from "./event.js";
import { key } from "./timeline.js";

/// By the date that is shown: when Apple signed it, or when time alone changed the row.
export const shownAt = (item) => item.signed_date ?? item.at ?? item.received_at;
export const sorted = (items) => items.map((item, at) => [item, at])
  .sort(([a, i], [b, j]) => shownAt(a) - shownAt(b) || i - j).map(([item]) => item);

/// What changes a customer's answer and is no event of a purchase.
const by = { transition: "by time", mapping: "by the mapping" };
export const isEvent = (item) => !by[item.object];

/// As many equal renewals, or equal lines of evidence, in a row become one line.
const fewest = 3;

/// - items: sorted; each line opens with the command that asks for `path(item)`.
/// - aside: what follows a line; nothing by default.
export function drawEvents(list, items, path, aside = () => null) {
  const newest = [...items].reverse();
  const drawn = (item) => drawLine(item, path, aside);
  const groups = [];
  for (const item of newest) {
    const last = groups.at(-1);
    if (last && isEqual(last[0], item)) {
      last.push(item);
    } else groups.push([item]);
  }
  list.replaceChildren(...groups.flatMap((group) => (group.length < fewest
    ? group.map(drawn) : [grouped(group, drawn)])));
}

const isRenewal = (item) => item.object === "event" && /^(DID_RENEW|RENEWAL)$/.test(
  item.notification_type) && !item.subtype && !item.late && !item.redeliveries;
// As an import, or an answer of Apple's, gives them.
const isEvidence = (item) => item.object === "event" && /^(transaction|renewal)$/.test(item.source);
const isEqual = (a, b) => a.of === b.of && (isRenewal(a) && isRenewal(b)
  || isEvidence(a) && isEvidence(b) && a.source === b.source) && sameSale(a, b);
const sameSale = (a, b) => JSON.stringify(purchase(a)) === JSON.stringify(purchase(b));

function grouped(items, drawn) {
  const { product, amount } = purchase(items[0]);
  const range = `${day(shownAt(items.at(-1)))} to ${day(shownAt(items[0]))}`;
  const item = line({ key: "", shown: shownAt(items[0]), tone: tone(items[0]),
    words: isEvidence(items[0]) ? `${items[0].words}, ${items.length} times`
      : `renewed ${items.length} times`, name: range, product,
    amount: amount && `${items.length} × ${amount}`,
    open: () => h("ol", { class: "events open nested" }, items.map(drawn)) });
  item.dataset.keys = items.map(key).join(" ");
  delete item.dataset.key;
  return item;
}

function drawLine(item, path, aside) {
  if (by[item.object]) {
    return h("li", { class: "transition", "data-time": item.at }, h("span", { class: "soft time" },
      time(item.at)), h("span", { class: "soft" }, item.words, " ", tag("gray", by[item.object])));
  }
  const { product, amount } = purchase(item);
  const isQuarantined = item.object === "quarantined";
  return line({ key: key(item), shown: shownAt(item), tone: tone(item), isSquare: isQuarantined,
    words: isQuarantined ? `in quarantine: ${item.reason}` : item.words, name: typeName(item),
    product, amount, tags: tags(item), aside: aside(item),
    open: () => opened(item, () => curlCommand(path(item))) });
}

/// Opens an event, and the group that it is in; returns its line.
export function show(list, event) {
  const find = () => list.querySelector(`[data-key="${key(event)}"]`);
  if (!find()) {
    [...list.querySelectorAll("[data-keys]")].find((it) => it.dataset.keys.split(" ").includes(
      key(event)))?.setOpen(true);
  }
  const item = find();
  item?.setOpen(true);
  return item;
}
