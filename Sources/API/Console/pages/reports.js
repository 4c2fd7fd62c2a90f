// Questions of finance by name: GET /v1/reports and GET /v1/reports/{report}. The page shows what
// the daemon sums; it adds nothing up but the bars of a period.

import { address, ask, query } from "./api.js";
import { columns } from "./chart.js";
import { card, command, empty, h, heading, many, note, select, soft, sources, table }
  from "./draw.js";

const page = "reports";
/// The columns that say to which period a line belongs.
const periods = ["month", "refunded_in", "day"];
/// The columns that are drawn first, where there are any.
const amounts = ["charged", "refunded", "net", "amount"];
const kinds = { month: ["Month", "month"], day: ["Day", "date"],
  customer: ["App account token", "text"] };

export async function reports(main, shown) {
  const { rest, query: asked, isShown } = shown;
  const list = (await ask("/v1/reports")).items;
  const report = list.find((it) => it.name === rest[0]) ?? list[0];
  const given = Object.fromEntries(report.parameters.map((name) => [name, asked[name]]));
  const path = query(`/v1/reports/${report.name}`, given);
  // Only the customer has no usual value.
  const isMissing = report.parameters.includes("customer") && !asked.customer;
  const answer = isMissing ? null : await ask(path);
  if (!isShown()) return;
  const to = (parameters) => address(page, [report.name], { ...asked, ...parameters });
  const choice = select("Report", list.map((it) => [it.name, it.title]), report.name,
    (name) => { location.hash = address(page, [name]); });
  main.replaceChildren(h("div", { class: "stack" }, heading("Reports"),
    soft("What customers paid in Production, as Apple states it to them. Nothing is converted; ",
      "what Apple pays is in its own reports."),
    h("div", { class: "filters" }, choice, report.parameters.map((name) => parameter(name,
      asked[name] ?? answer?.[name] ?? "", (value) => { location.hash = to({ [name]: value }); }))),
    report.definition ? soft(report.definition) : null,
    answer ? [chart(answer, asked, to, shown), lines(answer)]
      : card("Answer", null, empty("Whose purchases?",
        "Enter the app account token of a customer.")),
    card("By command", null, command(["subledger report", report.name,
      ...Object.entries(given).filter(([, it]) => it).map(([name, it]) => `--${name} ${it}`)]
      .join(" "))),
    sources("/v1/reports", ...(answer ? [path] : []))));
  shown.drawn?.();
}

function parameter(name, value, change) {
  const [title, type] = kinds[name];
  const id = `f-${name}`;
  return h("label", { class: "field", for: id }, h("span", {}, title), h("input", { id, type, value,
    spellcheck: "false", autocomplete: "off",
    onchange: (event) => change(event.target.value.trim()) }));
}

const cell = (value) => (value === null ? "–" : value);

function lines(answer) {
  return card(many(answer.items.length, "line"), null,
    answer.is_whole ? null : note("amber", "There are more lines than a page shows. ",
      "The command with --csv prints all."),
    answer.items.length ? table(answer.columns, answer.items.map((line) => answer.columns.map(
      (name) => cell(line[name])))) : empty("Nothing", "No line answers this question."));
}

/// The bars of one column, period by period; of one currency, because none is converted.
function chart(answer, asked, to, shown) {
  const period = periods.find((name) => answer.columns.includes(name));
  // A share is no number that can be added up.
  const numbers = answer.columns.filter((name) => name !== "percent" && answer.items.some(
    (line) => typeof line[name] === "number"));
  const starts = [...new Set(answer.items.map((line) => line[period]))].sort();
  if (!period || !numbers.length || starts.length < 2) return null;
  const ofCurrency = (currency) => answer.items.filter((line) => line.currency === currency);
  const sum = (lines, name) => lines.reduce((all, line) => all + (line[name] ?? 0), 0);
  const currencies = [...new Set(answer.items.map((line) => line.currency))]
    .sort((one, other) => sum(ofCurrency(other), numbers[0]) - sum(ofCurrency(one), numbers[0]));
  const column = numbers.includes(asked.column) ? asked.column
    : numbers.find((name) => amounts.includes(name)) ?? numbers[0];
  const currency = currencies.includes(asked.currency) ? asked.currency : currencies[0];
  const bars = starts.map((start) => [start,
    sum(ofCurrency(currency).filter((line) => line[period] === start), column)]);
  const holder = h("div", { class: "chart" });
  const draw = () => columns(holder, bars, `${column}${currency ? ` in ${currency}` : ""}`);
  const watch = new ResizeObserver(draw);
  shown.drawn = () => { draw(); watch.observe(holder); };
  shown.end = () => watch.disconnect();
  return card(`${column} by ${period}`, h("div", { class: "scope" },
    select("Column", numbers.map((it) => [it, it]), column,
      (it) => { location.hash = to({ column: it }); }),
    currencies.length > 1 ? select("Currency", currencies.filter(Boolean).map((it) => [it, it]),
      currency, (it) => { location.hash = to({ currency: it }); }) : null), holder);
}
