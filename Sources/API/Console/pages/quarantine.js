// What was genuine and not admitted: GET /v1/quarantine, with filters and pages. Admitting and
// dropping are commands, because a read token must not change anything.

import { address, ask, curlCommand, query } from "./api.js";
import { card, code, command, count, empty, figure, h, heading, link, many, marked, pager, select,
  since, soft, sources, table } from "./draw.js";
import { line, opened, purchase, typeName } from "./event.js";
import { reasons } from "./names.js";

const page = "quarantine";
/// The filters of the address. They are not the scope: what is here is often of no configured app.
const wanted = (asked) => ({ reason: asked.reason, bundle_id: asked.bundle,
  environment: asked.in });
const to = (parameters) => address(page, [], parameters);

export async function quarantine(main, { query: asked, isShown }) {
  const path = query("/v1/quarantine", { ...wanted(asked), raw: "true", after: asked.after,
    limit: 50 });
  const [list, all] = await Promise.all([ask(path), ask("/v1/overview?hours=1")]);
  if (!isShown()) return;
  const groups = all.quarantine.by_reason;
  const isFiltered = asked.reason || asked.bundle || asked.in;
  main.replaceChildren(h("div", { class: "stack" }, heading("Quarantine"),
    soft("Notifications that Apple signed and this configuration does not admit. They are in no row ",
      "until they are admitted."),
    groups.length ? [overview(groups, all), filters(asked, groups),
      bulk(asked, list, groups),
      card(title(asked, groups), isFiltered ? link(to({}), "Show all") : null,
        list.items.length ? h("ol", { class: "events" }, list.items.map(item)) : empty(
          "Nothing matches these filters", link(to({}), "Show all of quarantine"), "."),
        pager(page, asked, list.next_page))]
      : card("In quarantine", null, empty("Quarantine is empty",
        "A notification of another app or environment than configured would be kept here, and one ",
        "whose UUID is known with other content.")),
    sources(path, "/v1/overview?hours=1")));
}

const matches = (asked, groups) => groups.filter((it) => (!asked.reason ||
  it.reason === asked.reason) && (!asked.bundle ||
  it.bundle_id === asked.bundle) && (!asked.in || it.environment === asked.in));
const sum = (groups) => groups.reduce((all, it) => all + it.count, 0);
const title = (asked, groups) => `${many(sum(matches(asked, groups)), "notification")}, newest first`;

function overview(groups, all) {
  const dropped = all.quarantine.only_counted;
  return card("By reason", dropped ? h("span", { class: "soft small" },
    `${count(dropped)} more were counted and not stored: quarantine was full`) : null,
  table(["Count", "Reason", "App", "Environment", "Last received"], groups.map((it) => [
    figure(it.count, to({ reason: it.reason, bundle: it.bundle_id, in: it.environment })),
    h("span", {}, code(it.reason), h("span", { class: "soft small block" },
      marked(reasons[it.reason]?.[1] ?? "Correct the configuration, reload, then admit."))),
    it.bundle_id ?? "–", it.environment ?? "–", since(it.last_received_at, all.at)]), "stacked"));
}

function filters(asked, groups) {
  const values = (name) => [...new Set(groups.map((it) => it[name]).filter(Boolean))].sort()
    .map((it) => [it, it]);
  const change = (name) => (value) => {
    location.hash = to({ ...asked, after: "", [name]: value });
  };
  return h("div", { class: "filters" },
    select("Reason", [["", "Every reason"], ...values("reason")], asked.reason ?? "",
      change("reason")),
    select("App", [["", "Every app"], ...values("bundle_id")], asked.bundle ?? "",
      change("bundle")),
    select("Environment", [["", "Every environment"], ...values("environment")],
      asked.in ?? "", change("in")));
}

/// A word of a shell command: strangers choose the ids of their apps.
const word = (text) => (/^[\w./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/// The commands for all that match. They know no environment: with one, each id is named.
function bulk(asked, list, groups) {
  const number = sum(matches(asked, groups));
  const { reason, bundle_id: app, environment } = wanted(asked);
  if (!number) return null;
  const ids = list.items.map((it) => it.id).join(" ");
  const all = (verb) => (environment || (!reason && !app)
    ? `for id in ${ids}; do subledger quarantine ${verb} $id; done`
    : `subledger quarantine ${verb}${app ? ` --app ${word(app)}` : ""}${reason ? ` --reason ${reason}`
      : ""}`);
  const shown = many(list.items.length, "notification");
  return card(environment || (!reason && !app) ? `For the ${shown} of this page` : `For all ${many(number, "notification")} that match`, null,
  h("p", { class: "soft small" }, "Once the configuration is corrected, admit them; drop what you ",
    "will never want. What is dropped is gone."),
  command(all("admit")), command(all("drop")));
}

function item(entry) {
  const { product, amount } = purchase(entry);
  return line({ key: `q${entry.id}`, shown: entry.received_at, tone: "amber", isSquare: true,
    words: typeName(entry) || "Unknown type",
    name: `${entry.reason} · ${entry.bundle_id ?? "no app"} · ${
      entry.environment ?? "no environment"}`,
    product, amount, tags: h("span", { class: "tag amber" }, `id ${entry.id}`),
    open: () => opened(entry, () => curlCommand(query("/v1/quarantine", { raw: "true", limit: 1,
      after: entry.id + 1 }))) });
}
