// The journal's events, newest first: GET /v1/events, with filters and pages.

import { address, ask, curlCommand, query, scope, scoped, subscriptionAddress } from "./api.js";
import { card, empty, h, heading, link, minute, pager, select, sources, tag } from "./draw.js";
import { line, opened, purchase, tags, tone, typeName } from "./event.js";
import { arrivals, sourceGroups, types } from "./names.js";

const page = "events";
/// Requests for one page: each looks at some thousand events for those that match.
const most = 20;

export async function events(main, { query: asked, isShown }) {
  const path = (after) => query("/v1/events", { order: "newest", limit: 50, include: "payload",
    ...scoped(), type: asked.type, source: asked.source, arrival: asked.arrival,
    since: asked.since, until: asked.until, after });
  const list = await gather(path, asked.after, isShown);
  if (!isShown()) return;
  const change = (name) => (value) => {
    location.hash = address(page, [], { ...asked, after: "", [name]: value });
  };
  const several = asked.type?.includes(",") ? [[asked.type, asked.type.replaceAll(",", ", ")]] : [];
  main.replaceChildren(h("div", { class: "stack" },
    heading("Events", { page, query: asked, hasScope: true }),
    h("div", { class: "filters" },
      select("Source", [["", "Every source"], ...sourceGroups], asked.source ?? "",
        change("source")),
      select("Arrival", [["", "However it came"], ["posted", "posted by Apple"],
        ...Object.entries(arrivals)], asked.arrival ?? "", change("arrival")),
      select("Type", [["", "Every type"], ...several, ...types.map((it) => [it, it])],
        asked.type ?? "", change("type")), range(asked)),
    card("Newest first, by the time of receiving", null,
      list.items.length ? h("ol", { class: "events" }, list.items.map(item)) : none(asked, list),
      pager(page, asked, list.has_more ? list.next_page : null)),
    sources(path(asked.after))));
}

/// Asks until a page is full or there is nothing more: a request may find nothing that matches.
async function gather(path, after, isShown) {
  const items = [];
  let place = after;
  for (let number = 0; number < most; number += 1) {
    const list = await ask(path(place));
    items.push(...list.items);
    if (!list.has_more || items.length >= 50 || !isShown()) return { ...list, items };
    place = list.next_page;
  }
  return { items, next_page: place, has_more: true };
}

function item(event) {
  const { product, amount } = purchase(event);
  const millisecond = { since: event.received_at, until: event.received_at + 1 };
  const isOne = event.original_transaction_id !== null;
  return line({ key: `e${event.seq}`, shown: event.received_at, tone: tone(event),
    words: event.words, name: typeName(event), product, amount,
    tags: [event.environment === "Sandbox" && scope.environment === "both"
      ? tag("gray", "Sandbox") : null, tags(event)],
    aside: isOne ? h("a", { class: "id", href: subscriptionAddress(event, { event: event.seq }),
      title: "The subscription" }, event.original_transaction_id) : null,
    open: () => opened(event, () => curlCommand(query("/v1/events", { ...millisecond,
      include: "payload,body" }))) });
}

/// The time that a link of the overview chose.
function range(asked) {
  if (!asked.since && !asked.until) return null;
  const [from, to] = [asked.since, asked.until].map((it) => (it ? minute(Number(it)) : null));
  return h("p", { class: "chosen" }, `Received ${from ? `from ${from}` : ""}${
    to ? ` until ${to}` : ""} UTC `, link(address(page, [], { ...asked, since: "", until: "",
    after: "" }), "Any time"));
}

function none(asked, list) {
  if (list.has_more) return empty("Nothing found yet", "Older events have not been searched.");
  if (asked.type || asked.source || asked.since || asked.until || scope.app || asked.after) {
    return empty("No event matches", link(address(page, [], { app: "", environment: "both" }),
      "Show all events"), ".");
  }
  return [empty(`No event ${scope.environment === "both" ? "" : `in ${scope.environment} `}yet`,
    "Set the daemon’s address as the server URL in App Store Connect, for version 2, then ask ",
    "Apple for a test:"), h("pre", {}, "subledger test-notification")];
}
