/** `pawl cost`: what sessions have used, lost attempts apart, in tokens and, where a price is known, in money. */
import type { LogEntry, Runtime, SessionSummary, Usage } from "@pawl/core";
import { addressOf } from "./address.ts";
import { loadConfig } from "./config/load.ts";
import { moneyWords, type Prices, priceOf, pricingFor, wordOf } from "./money.ts";
import { workspaceFolder } from "./place.ts";
import { readable } from "./readable.ts";
import { everySession } from "./session-pages.ts";
import { columnsOf, counted, grouped, line, toned } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

const out = process.stdout;

interface Account {
  attempts: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** Attempts of which nobody said the tokens. */
  unmeasured: number;
  /** Attempts that count as tokens and not as money. */
  unpriced: number;
  money: number;
}

interface Bill {
  committed: Account;
  /** Sealed, discarded, failed, interrupted: paid for, and part of no answer. */
  lost: Account;
  /** By model, both together. */
  models: { [model: string]: Account };
}

export function showCost(address: string | undefined, options: VisitOptions): Promise<number> {
  const { values } = loadConfig(workspaceFolder(undefined));
  const { pricing, currency } = values;
  return visitStore(options, async (runtime) => {
    const wanted = address === undefined ? undefined : await addressOf(runtime, address);
    const total = emptyBill();
    let sessions = 0;
    for await (const summary of summaries(runtime, wanted)) {
      const { entries, damage } = await readable(runtime, summary.session);
      const bill = billOf(entries, summary.session, pricing);
      addBill(total, bill);
      sessions += 1;
      if (damage)
        process.stderr.write(`pawl: session ${summary.session} is damaged; what is readable of it is counted\n`);
      if (options.json)
        out.write(
          `${JSON.stringify({ session: summary.session, title: summary.head.title ?? null, currency, ...bill })}\n`,
        );
      else if (address === undefined) printSession(summary, bill, currency);
    }
    if (options.json) {
      if (address === undefined) out.write(`${JSON.stringify({ total: true, sessions, currency, ...total })}\n`);
    } else printTotal(total, sessions, currency);
    return 0;
  });
}

async function* summaries({ store }: Runtime, wanted: string | undefined): AsyncGenerator<SessionSummary, void> {
  if (wanted === undefined) return yield* everySession(store);
  const summary = await store.get(wanted);
  if (summary) yield summary;
}

/** Of what the session itself has asked for: a fork begins with its parent's records, which its parent has paid for. */
function billOf(entries: Iterable<LogEntry>, session: string, prices: Prices): Bill {
  const bill = emptyBill();
  const asked = new Map<string, string>();
  for (const { event, session: of } of entries) {
    if (of !== session) continue;
    if (event.type === "attempt.started") asked.set(event.attempt, wordOf(event.model));
    if (event.type !== "attempt.ended") continue;
    const model = asked.get(event.attempt) ?? "unknown";
    const account = bill.models[model] ?? emptyAccount();
    bill.models[model] = account;
    const price = pricingFor(prices, model);
    // What was recorded then counts: a price list changes.
    const money = event.cost ?? (price && priceOf(event.usage, price));
    enter(account, event.usage, money);
    enter(event.end === "committed" ? bill.committed : bill.lost, event.usage, money);
  }
  return bill;
}

function enter(account: Account, usage: Usage, money: number | undefined): void {
  account.attempts += 1;
  for (const name of ["input", "output", "cacheRead", "cacheWrite"] as const) account[name] += usage[name] ?? 0;
  if (usage.measure === "unknown") account.unmeasured += 1;
  if (money === undefined) account.unpriced += 1;
  account.money += money ?? 0;
}

function emptyAccount(): Account {
  return { attempts: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, unmeasured: 0, unpriced: 0, money: 0 };
}

function emptyBill(): Bill {
  return { committed: emptyAccount(), lost: emptyAccount(), models: {} };
}

function addBill(into: Bill, bill: Bill): void {
  add(into.committed, bill.committed);
  add(into.lost, bill.lost);
  for (const [model, account] of Object.entries(bill.models)) {
    into.models[model] ??= emptyAccount();
    add(into.models[model], account);
  }
}

function add(into: Account, account: Account): void {
  for (const name of Object.keys(into) as (keyof Account)[]) into[name] += account[name];
}

function printSession({ session, head }: SessionSummary, { committed, lost }: Bill, currency: string): void {
  const both = emptyAccount();
  for (const account of [committed, lost]) add(both, account);
  const figures = words(both, currency);
  const room = Math.max(16, columnsOf(out) - session.length - figures.length - 4);
  out.write(`${session}  ${figures}  ${toned("quiet", line(head.title ?? "", room), out)}\n`);
}

function printTotal({ committed, lost, models }: Bill, sessions: number, currency: string): void {
  if (sessions !== 1) out.write(`\n${counted(sessions, "session")}\n`);
  out.write(`answers  ${words(committed, currency)}\n`);
  if (lost.attempts > 0) out.write(toned("warn", `lost     ${words(lost, currency)}\n`, out));
  for (const [model, account] of Object.entries(models))
    out.write(`  ${line(model, 60)}  ${words(account, currency)}\n`);
  const unpriced = Object.entries(models).flatMap(([model, account]) =>
    account.unpriced > account.unmeasured ? [model] : [],
  );
  if (unpriced.length > 0)
    out.write(
      toned("quiet", `No price is known of ${unpriced.join(", ")}; "pricing" in the configuration names one.\n`, out),
    );
}

function words({ attempts, input, output, cacheRead, unmeasured, unpriced, money }: Account, currency: string): string {
  const cached = cacheRead > 0 ? ` (${grouped(cacheRead)} from cache)` : "";
  const missing = unmeasured > 0 ? `, ${grouped(unmeasured)} without a figure` : "";
  const cost = unpriced < attempts ? ` · ${unpriced > 0 ? "at least " : ""}${moneyWords(money, currency)}` : "";
  return `${counted(attempts, "request")} · ${grouped(input)} tokens in${cached}, ${grouped(output)} out${missing}${cost}`;
}
