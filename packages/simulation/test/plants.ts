/** Faults that must not survive: what each is, where it is planted, which laws may notice, and a seed that does. */
import type { Plant } from "./plant.ts";

export interface PlantedFault extends Plant {
  title: string;
  /** Laws that see it; the first breach is of one of these. */
  laws: string[];
  /** A seed that finds it, as the world is now; should the world change, the test looks for another. */
  seed: number;
}

export const plants: PlantedFault[] = [
  {
    title: "a settlement is dropped",
    file: "turn/close.ts",
    find: "events.push(...settleMissing(unsettled(step.calls)));",
    put: "",
    laws: ["L7"],
    seed: 50,
  },
  {
    title: "an attempt id is used again",
    file: "turn/attempt.ts",
    find: 'const attempt = effects.id("a");',
    put: 'const attempt = "a_" + ledger.state.turn?.id;',
    laws: ["L7", "L2", "L4", "error"],
    seed: 1,
  },
  {
    title: "the fence is skipped",
    file: "store/memory.ts",
    find: "if (session.lease?.epoch !== batch.epoch) throw fenced(session.id, batch.epoch, session.epoch);",
    put: "",
    laws: ["L8"],
    seed: 2623,
  },
  {
    title: "a request is made again after an effect at the provider",
    file: "attempt/decide.ts",
    find: 'case "irrevocable":\n      return "stop";',
    put: 'case "irrevocable":\n      return "discard";',
    laws: ["L5"],
    seed: 309,
  },
  {
    title: "fragments are joined",
    file: "turn/attempt.ts",
    find: 'ledger.stage(attemptEnded(driver, id, "committed", result));',
    put: 'result.parts.unshift(...(openStep(ledger.state).ended?.fragment ?? []));\n  ledger.stage(attemptEnded(driver, id, "committed", result));',
    laws: ["L2"],
    seed: 6,
  },
  {
    title: "usage is counted twice",
    file: "view/books.ts",
    find: "into.tokens[name] += usage[name] ?? 0;",
    put: "into.tokens[name] += 2 * (usage[name] ?? 0);",
    laws: ["L9"],
    seed: 1,
  },
  {
    title: "a claimed input is lost",
    file: "turn/accept.ts",
    find: 'ledger.stage({ type: "input.accepted", input: id, kind, content });',
    put: 'if (kind === "prompt") ledger.stage({ type: "input.accepted", input: id, kind, content });\n  else ledger.consume(id);',
    laws: ["L3"],
    seed: 54,
  },
  {
    title: "a call whose outcome is unknown runs again",
    file: "turn/recover.ts",
    find: 'return fate === "goes-on" && entered?.effect !== "write" && runs < limit.runsPerCall;',
    put: 'return fate === "goes-on" && runs < limit.runsPerCall;',
    laws: ["L4"],
    seed: 354,
  },
  {
    title: "a step is closed early",
    file: "turn/decide.ts",
    find: "unsettled(step.calls).length > 0",
    put: "unsettled(step.calls).length > 1",
    laws: ["L7"],
    seed: 9,
  },
  {
    title: "the wait is forgotten after a crash",
    file: "turn/state.ts",
    find: "return Math.min(Math.max(decision.at + decision.delayMs - now, 0), decision.delayMs);",
    put: "return now - decision.at > 50 ? 0 : decision.delayMs;",
    laws: ["L6"],
    seed: 630,
  },
];
