// What Apple was asked for by itself: missed notifications, and customers in silence.

import { address, ask } from "./api.js";
import { ago, card, code, command, count, empty, facts, figure, h, heading, many, note, raw, since,
  soft, sources, tag, time } from "./draw.js";

export const keyHint = () => ["Add ", code("appStore"), " to the configuration: ",
  code("subledger help configuration"), "."];
/// The events of an app that came in a way.
const came = (app, arrival) => address("events", [], { app: app.bundle_id,
  environment: app.environment, arrival });
/// The beginning of an error; the page has all of it.
const failed = (error) => (error ? [" ", tag("red", "failed"), ` ${error.split(";")[0]}`] : null);

export async function recovery(main, { isShown }) {
  const data = await ask("/v1/overview?hours=1");
  if (!isShown()) return;
  const { apps, ...times } = data.recovery;
  const due = (ms) => (ms === null ? "–" : ms > data.at ? since(ms, data.at) : "now");
  const hasKey = apps.some((app) => app.recover !== "no_key");
  main.replaceChildren(h("div", { class: "stack" }, heading("Recovery"),
    soft("The daemon asks Apple for notifications that it missed, and compares customers of whom ",
      "Apple said nothing since their paid period ended."),
    hasKey ? h("dl", { class: "tiles" }, [
      ["Last complete recovery", times.recovered_at, false], ["Next recovery", times.next_at, true],
      ["Last reconciliation", times.reconciled_at, false],
      ["Next reconciliation", times.next_reconciliation_at, true]].map(([name, ms, isDue]) => h(
      "div", { class: "card tile" }, h("dt", {}, name), h("dd", {}, isDue ? due(ms) : ms === null
        ? "None" : since(ms, data.at)), h("dd", {}, ms === null ? isDue ? "Not planned"
        : "By the daemon itself since its start" : time(ms))))) : note("amber",
      "Apple is not asked for what was missed: no app has a key. ", keyHint()),
    apps.length ? hasKey ? apps.map((app) => one(app, data)) : null : card("Apps", null, empty(
      "No app", "The token may see none, or none is configured.")),
    hasKey ? card("By hand", null, soft("What the daemon does by itself, and more, commands do too. ",
      "They hand over to a daemon that runs."),
    command("subledger recover --dry-run"), command("subledger reconcile --due")) : null,
    raw(data.recovery), sources("/v1/overview?hours=1")));
}

function one(app, data) {
  const { last_recovery: found, last_reconciliation: compared } = app;
  const title = `${app.bundle_id} ${app.environment}`;
  if (app.recover !== "automatic") {
    return card(title, tag("gray", "not asked about"), soft(app.recover === "off"
      ? ["The configuration has ", code("\"recover\": \"off\""), "."] : ["No key. ", keyHint()]));
  }
  return card(title, null, h("div", { class: "split" },
    part("Recovery", found, "No recovery since the daemon started.", data, found && [
      ["Why", why[found.reason] ?? found.reason], ["Listed by Apple", count(found.listed)],
      ["Recovered", figure(found.recovered, came(app, "history"))],
      ["Apple believes delivered", count(found.delivered)],
      ["Refused", count(found.refused)],
      ["Gone", found.gone ? "Apple no longer has all" : "Nothing"]]),
    part("Reconciliation", compared, data.recovery.reconciled_at
      ? `The last one was ${ago(data.recovery.reconciled_at, data.at)}, before the daemon started.`
      : "No reconciliation yet.", data, compared && [
      compared.by_hand ? ["Why", "by hand: subledger reconcile"] : null,
      ["Customers asked about", count(compared.asked)], ["Differed", count(compared.differed)],
      ["Still differ", count(compared.remaining)], ["Unknown to Apple", count(compared.unknown)],
      ["Could not be asked", count(compared.failed)],
      ["Events journaled", figure(compared.journaled, came(app, "asked"))]])));
}

const why = { start: "the daemon started", restore: "a backup was restored",
  silence: "nothing had arrived", again: "the last one was not complete",
  failures: "notifications had failed", command: "by hand: subledger recover" };

function part(name, result, none, data, list) {
  return h("div", {}, h("h3", {}, name), result ? [
    result.error ? h("p", { class: "note red small below" }, "Failed: ", result.error) : null,
    h("p", { class: "soft small" }, "Ended ", since(result.at, data.at)), facts(list)]
    : h("p", { class: "soft" }, none));
}

/// What the overview says of an app, in lines.
export function summary(app, data) {
  if (app.recover === "no_key") return [["Not asked about: no key. ", keyHint()]];
  if (app.recover === "off") return [["Not asked about: ", code("\"recover\": \"off\"")]];
  const { last_recovery: found, last_reconciliation: compared } = app;
  const when = (name, ms) => [`${name} `, since(ms, data.at), ": "];
  return [
    found ? [when(found.reason === "command" ? "Recovery by hand" : "Recovery", found.at), found.recovered
      ? [figure(found.recovered, came(app, "history")),
        ` of ${many(found.listed, "listed notification")} recovered`]
      : `${found.error ? "" : "nothing was missing, "}${many(found.listed, "notification")} listed`,
    found.delivered ? [" ", tag("red", `${count(found.delivered)} that Apple believes delivered`)]
      : null, found.refused ? [" ", tag("red", `${count(found.refused)} refused`)] : null,
    found.gone ? [" ", tag("amber", "Apple no longer has all")] : null, failed(found.error)]
      : "No recovery since the daemon started",
    compared ? [when(compared.by_hand ? "Reconciliation by hand" : "Reconciliation", compared.at), compared.asked
      ? `${count(compared.asked)} due, ${count(compared.differed)} differed${compared.unknown
        ? `, ${count(compared.unknown)} unknown to Apple` : ""}`
      : compared.error ? "nobody was asked about" : "nobody was due",
    compared.remaining ? [" ", tag("red", `${count(compared.remaining)} still differ`)] : null,
    failed(compared.error)] : data.recovery.reconciled_at
      ? `Last reconciliation ${ago(data.recovery.reconciled_at, data.at)}, before the daemon started`
      : "No reconciliation yet",
  ];
}
