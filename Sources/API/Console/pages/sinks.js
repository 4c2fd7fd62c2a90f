// Where changes are sent, and how far each receiver is: GET /v1/sinks.

import { ask } from "./api.js";
import { card, code, command, count, empty, facts, h, heading, many, note, pill, raw, since, soft,
  sources, span, tag } from "./draw.js";

export const states = {
  up: ["Sending", "green", "It sends."],
  down: ["Down", "red", "The receiver does not answer, and is asked now and then."],
  paused: ["Paused", "gray", "A command paused it."],
  gone: ["Gone", "red", "The receiver answered 410: it wants no more messages."],
  lost: ["Lost", "red", "Its place in the journal is not known."],
  full: ["Full", "amber", "Too many messages were refused."],
};

const kinds = { forward: "forwards Apple’s POST", mirror: "mirror", webhook: "webhook" };

export async function sinks(main, { isShown }) {
  let list = null;
  try {
    list = await ask("/v1/sinks");
  } catch (error) {
    if (error.status !== 403) throw error;
  }
  if (!isShown()) return;
  main.replaceChildren(h("div", { class: "stack" }, heading("Sinks"),
    soft("Changes are sent to these receivers: each gets every change at least once, in order for ",
      "each customer."),
    !list ? note("amber", "This token may not see sinks: it is limited to some apps or ",
      "environments, and a sink has the changes of all.")
      : list.items.length ? list.items.map(one) : card("Sinks", null, none()),
    list ? sources("/v1/sinks") : null));
}

const none = () => [empty("No sink is configured",
  "A sink tells your backend of every change by a signed webhook, or passes Apple’s own POST on. ",
  "Add one to ", code("sinks"), " of the configuration, with a secret:"),
command("subledger sink secret"), command("subledger help sinks")];

function one(sink) {
  const [text, tone, meaning] = states[sink.state] ?? [sink.state, "gray", ""];
  const name = sink.replay ? `${sink.name}, replay ${sink.replay}` : sink.name;
  return card(name, pill(tone, text),
    h("p", { class: "soft" }, tag("gray", kinds[sink.kind] ?? sink.kind), " ", h("span", { class: "id" }, sink.url)),
    sink.state === "up" && !sink.reason ? null : h("p", { class: `note small ${tone}` }, meaning,
      sink.reason ? ` The reason: ${sink.reason}.` : ""),
    facts([
      ["Behind", sink.lag_events ? many(sink.lag_events, "event") : sink.held
        ? `By ${many(sink.held, "held message")}` : "Up to date"],
      ["Oldest waits", sink.lag_milliseconds ? span(sink.lag_milliseconds) : "–"],
      ["Delivered through", `seq ${count(sink.seq)}`],
      ["Delivered since the start", count(sink.delivered)],
      ["Attempts without answer", count(sink.failed)],
      ["Attempts refused", count(sink.refused)],
      ["Held, to be tried again", count(sink.held)], ["Given up", count(sink.dead)],
      ["Next attempt", sink.next_attempt_at ? since(sink.next_attempt_at) : "–"],
      ["In this state since", since(sink.since)],
    ]),
    h("h3", { class: "above" }, "Commands"), commands(sink).map(command), raw(sink));
}

/// What an operator would do next.
function commands(sink) {
  const { name, state, held, dead } = sink;
  return [
    state === "lost"
      ? `subledger sink resume ${name} --from ${sink.kind === "mirror" ? "start" : sink.cursor}` : null,
    ["paused", "gone", "full"].includes(state) ? `subledger sink resume ${name}` : null,
    dead ? `subledger sink retry ${name} --dead` : null,
    held ? `subledger sink retry ${name}` : null,
    dead || held ? `subledger sink show ${name}` : null,
    sink.kind !== "mirror" && (state === "up" || state === "down") ? `subledger sink test ${name}` : null,
    state === "up" ? `subledger sink pause ${name}` : null,
  ].filter(Boolean);
}
