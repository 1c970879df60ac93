/** The scenarios of the universal crash test: what one process does, and what may never come of it. */

import { call, finish, type ScriptEntry, say, think } from "../src/testing/model.ts";
import type { ToolSet } from "../src/tool/tool.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import type { Session, Turn } from "../src/turn/session.ts";
import { emptyTranscript, readItem, type Transcript } from "../src/view/transcript.ts";
import { agentOf, type TurnWorld } from "./turn-world.ts";

/** What happened outside of the log: the writes, counted by call, and all that bodies gave. */
export class Outside {
  readonly entered = new Map<string, number>();
  readonly gave = new Map<string, string>();

  enter(callId: string): void {
    this.entered.set(callId, (this.entered.get(callId) ?? 0) + 1);
  }

  give(callId: string): string {
    const text = `done ${callId}`;
    this.gave.set(callId, text);
    return text;
  }
}

/** What a scenario's process works with. `other` is the same session in another process, over a store without faults. */
export interface Stage {
  world: TurnWorld;
  session: Session;
  other: Session;
  outside: Outside;
}

export interface Scenario {
  title: string;
  script: ScriptEntry[];
  /** Tools that the scenario adds to `act`, a write, and `look`, a read. */
  tools?(stage: Stage): ToolSet;
  /** What else its agent is told. */
  agent?(stage: Stage): Partial<Agent>;
  before?(stage: Stage): Promise<void>;
  /** Hears of the first words of the stream. */
  onWords?(stage: Stage): Promise<void>;
}

const schema = { type: "object" as const };

export function toolsOf(stage: Stage, scenario: Scenario): ToolSet {
  const { outside } = stage;
  const act = defineTool({
    inputSchema: schema,
    locks: () => [],
    execute: (_, { callId }) => {
      outside.enter(callId);
      return outside.give(callId);
    },
  });
  const look = defineTool({ ...act, effect: "read", execute: (_, { callId }) => outside.give(callId) });
  return { act, look, ...scenario.tools?.(stage) };
}

/** Runs the scenario's input to its end. Resolves with what a subscriber has read by then, and an error if the run has no end. */
export async function play(
  stage: Stage,
  scenario: Scenario,
): Promise<{ seen: Transcript; error: unknown; began: number }> {
  await scenario.before?.(stage);
  const began = (await stage.other.summary())?.seq ?? 0;
  const turn = stage.session.run(
    agentOf(scenario.script, { tools: toolsOf(stage, scenario), ...scenario.agent?.(stage) }),
    "go",
  );
  const watched = watch(stage, scenario, turn);
  const error = await stage.world.effects.run(turn.result).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { seen: await watched, error, began };
}

async function watch(stage: Stage, scenario: Scenario, turn: Turn): Promise<Transcript> {
  const seen = emptyTranscript();
  let heard = false;
  for await (const item of turn) {
    readItem(seen, item);
    if (item.type !== "part.delta" || heard) continue;
    heard = true;
    await scenario.onWords?.(stage);
  }
  return seen;
}

async function abortOpenTurn({ other }: Stage): Promise<void> {
  const open = (await other.summary())?.head.openTurn;
  if (open !== undefined) await other.abort(open);
}

/** A tool that does something to the session from outside, then listens to its signal. */
function acting({ outside }: Stage, doing: () => Promise<unknown>, waits: "for-abort" | "not"): ToolSet {
  return {
    acting: defineTool({
      inputSchema: schema,
      execute: async (_, { callId, signal }) => {
        outside.enter(callId);
        await doing();
        if (waits === "for-abort")
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        return outside.give(callId);
      },
    }),
  };
}

/** Somebody in another process who says yes to everything that is asked. */
function answeredByPost({ other }: Stage): Partial<Agent> {
  return {
    permission: ({ effect }) => (effect === "read" ? "allow" : "ask"),
    approver: async ({ call: id }, signal) => {
      const question = (await other.pendingApprovals()).find((one) => one.call === id);
      if (question) await other.answer(question.approval, "allow", { by: "ann", id: `an-${question.approval}` });
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  };
}

const broken = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };
const answer: ScriptEntry = [...say("all done"), finish()];

export const scenarios: Scenario[] = [
  { title: "text only", script: [answer] },
  { title: "one tool", script: [[...call("act", {}), finish("tool-calls")], answer] },
  {
    title: "three tools at once",
    script: [
      [...call("act", {}, "c1"), ...call("look", {}, "c2"), ...call("act", {}, "c3"), finish("tool-calls")],
      answer,
    ],
  },
  {
    title: "tools one after another",
    script: [
      [...call("act", {}, "c1"), finish("tool-calls")],
      [...call("act", {}, "c1"), finish("tool-calls")],
      answer,
    ],
  },
  { title: "retry after partial text", script: [[...say("all d"), broken], answer] },
  {
    title: "sealed reasoning",
    script: [[...think("let me see"), broken], [...think("again"), ...call("act", {}), finish()], answer],
  },
  {
    title: "a tool throws",
    script: [[...call("bad", {}), ...call("act", {}), finish("tool-calls")], answer],
    tools: ({ outside }) => ({
      bad: defineTool({
        inputSchema: schema,
        execute: (_, { callId }) => {
          outside.enter(callId);
          throw new Error("no");
        },
      }),
    }),
  },
  {
    title: "abort in a tool",
    script: [[...call("acting", {}), ...call("act", {}), finish("tool-calls")]],
    tools: (stage) => acting(stage, () => abortOpenTurn(stage), "for-abort"),
  },
  { title: "abort in the stream", script: [[...say("one two"), { silence: true }]], onWords: abortOpenTurn },
  {
    title: "steer in a tool",
    script: [[...call("acting", {}), finish("tool-calls")], answer],
    tools: (stage) => acting(stage, () => stage.other.post("steer", "left, please", "in_steer"), "not"),
  },
  {
    title: "approvals by post",
    script: [
      [...call("act", {}, "c1"), ...call("look", {}, "c2"), ...call("act", {}, "c3"), finish("tool-calls")],
      answer,
    ],
    agent: answeredByPost,
  },
  {
    title: "eager reads, and a stream that breaks behind them",
    script: [
      [...call("look", {}, "c1"), ...call("look", {}, "c2"), broken],
      [...call("look", {}, "c1"), ...call("act", {}, "c2"), ...call("look", {}, "c3"), finish("tool-calls")],
      answer,
    ],
    agent: () => ({ eagerReads: true }),
  },
  {
    title: "snapshots before what steps change, one of them missing",
    script: [
      [...call("look", {}, "c1"), ...call("act", {}, "c2"), ...call("act", {}, "c3"), finish("tool-calls")],
      [...call("act", {}, "c1"), finish("tool-calls")],
      answer,
    ],
    agent: ({ outside }) => ({
      snapshot: {
        take: async ({ step }) => {
          if (outside.entered.size > 1) throw new Error("no room");
          return `files of ${step}`;
        },
      },
    }),
  },
  {
    title: "queued inputs",
    script: [answer, answer],
    before: async ({ other }) => void (await other.post("input", "the one before", "in_queued")),
  },
  {
    title: "a crowded conversation, summed up",
    script: [[...say("the sum of it"), finish()], [...call("act", {}), finish("tool-calls")], answer],
    agent: () => ({ windowTokens: 4_000 }),
    before: longTalk,
  },
  {
    title: "a request that is too large, a summary that breaks",
    script: [
      { reject: Object.assign(new Error("prompt is too long"), { statusCode: 400 }) },
      [...say("the s"), broken],
      answer,
      answer,
    ],
    before: longTalk,
  },
  {
    title: "an input edited and another withdrawn while a tool runs, then a stop that hands back what waits",
    script: [[...call("acting", {}), finish("tool-calls")], answer],
    tools: (stage) =>
      acting(
        stage,
        async () => {
          await stage.other.post("input", "next", "in_next");
          await stage.other.edit("in_next", "the next", "ed_next");
          await abortOpenTurn(stage);
        },
        "for-abort",
      ),
    agent: () => ({ afterAbort: "return" }),
  },
];

/** Two turns of about two thousand tokens each, in another process. */
async function longTalk({ world, other }: Stage): Promise<void> {
  for (const words of ["first ", "second "]) {
    const said: ScriptEntry = [...say(words.repeat(700)), finish()];
    await world.effects.run(other.run(agentOf([said]), words.repeat(500)).result);
  }
}
