// The list of subscriptions: GET /v1/entitlements, with filters and pages.

import { address, ask, query, scope, scoped, subscriptionAddress } from "./api.js";
import { card, code, empty, h, heading, input, link, many, money, pager, pill, select, since,
  sources, table, tag, time } from "./draw.js";
import { rowStatus, statuses, withAccess } from "./names.js";

const page = "subscriptions";

export async function subscriptions(main, { query: asked, isShown }) {
  const isAccess = asked.status === withAccess;
  const path = query("/v1/entitlements", { ...scoped(), status: isAccess ? "" : asked.status,
    gives_access: isAccess ? "true" : "",
    product_id: asked.product, after: asked.after, limit: 50 });
  const counting = query("/v1/overview", { ...scoped(), hours: 1 });
  const [list, counts] = await Promise.all([ask(path), ask(counting).catch(() => null)]);
  if (!isShown()) return;
  const change = (name) => (value) => {
    location.hash = address(page, [], { ...asked, after: "", [name]: value });
  };
  const choices = [["", "Any status"], [withAccess, "With access"],
    ...Object.entries(statuses).map(([name, [text]]) => [name, text])];
  main.replaceChildren(h("div", { class: "stack" },
    heading("Subscriptions", { page, query: asked, hasScope: true }),
    h("div", { class: "filters" },
      select("Status", choices, asked.status ?? "", change("status")),
      input("Product id", asked.product ?? "", change("product"), "any product")),
    card(title(asked, counts), about, list.items.length ? rows(list.items) : none(asked),
      pager(page, asked, list.next_page)),
    sources(path)));
}

/// What one is, for those who look for a user: a row for each original transaction id.
const about = h("span", { class: "soft small" }, "One for each original transaction id; one-time ",
  "purchases too");

/// How many there are, where the daemon counts them: products are not counted.
function title(asked, counts) {
  if (!counts?.rows || asked.product) return "Subscriptions found";
  const wanted = asked.status ? asked.status.split(",") : null;
  const sum = counts.rows.by_status.filter((it) => (asked.status === withAccess ? it.gives_access
    : !wanted || wanted.includes(it.status))).reduce((all, it) => all + it.count, 0);
  return many(sum, "subscription");
}

function none(asked) {
  if (asked.after) return empty("The list ends here", "There is no subscription after this page.");
  if (asked.status || asked.product || scope.app) {
    return empty("Nothing matches these filters", link(address(page, [],
      { app: "", environment: "both" }), "Show all subscriptions"), ".");
  }
  return empty(`No subscription in ${scope.environment === "both" ? "any environment"
    : scope.environment} yet`, "Rows appear with the first notification about a purchase. ",
    "To fill the ledger with existing customers: ", code("subledger import"), ".");
}

/// A table of rows, for lists of subscriptions.
export function rows(items) {
  const isMixed = new Set(items.map((row) => `${row.environment} ${row.bundle_id}`)).size > 1;
  const names = ["Subscription", "Status", "Product", "Current period", "Auto-renew", "Price",
    "Last event"];
  return table(names, items.map((row) => [
    h("span", {}, h("a", { class: "id", href: subscriptionAddress(row) },
      row.original_transaction_id), isMixed ? h("span", { class: "soft small block" },
      row.bundle_id, " ", row.environment === "Sandbox" ? tag("gray", "Sandbox") : null) : null),
    row.status ? pill(rowStatus(row)[1], rowStatus(row)[0]) : tag("gray", "no row"),
    row.product_id ?? "–", period(row),
    row.auto_renew === null || row.auto_renew === undefined ? "–" : row.auto_renew ? "On" : "Off",
    row.price ? money(row.price.milliunits, row.price.currency) : "–",
    row.last_event ? since(row.last_event.signed_date, row.as_of) : "–",
  ]), "stacked");
}

function period(row) {
  const day = (ms) => new Date(ms).toISOString().slice(0, 10);
  const end = row.period_ends_at ?? row.expires_at;
  if (row.starts_at === null || row.starts_at === undefined) return "–";
  return h("span", {}, time(row.starts_at, day), end ? [" to ", time(end, day)] : ", no end");
}
