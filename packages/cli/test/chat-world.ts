/** A chat without a terminal: items and keys in, the text of frames out, at times that a test chooses. */
import { booksFold, type LiveItem, type LogEvent, limit } from "@pawl/core";
import { Printer } from "../src/chat/block.ts";
import { commandChoices } from "../src/chat/command.ts";
import { Composer } from "../src/chat/composer.ts";
import { Desk, type Intent } from "../src/chat/desk.ts";
import { type Frame, frameOf, type Size } from "../src/chat/frame.ts";
import { KeyReader } from "../src/chat/key.ts";
import { lineText } from "../src/chat/span.ts";
import { Story } from "../src/chat/story.ts";

export const model = { provider: "openai-chat", id: "m" };

export class ChatWorld {
  readonly desk: Desk;
  readonly printer = new Printer();
  size: Size = { columns: 60, rows: 24 };
  now = 10_000;
  /** Everything that was printed for good. */
  readonly printed: string[] = [];
  windowTokens: number | undefined;
  #seq = 0;
  readonly #keys = new KeyReader();

  constructor(history: readonly string[] = []) {
    this.desk = new Desk(
      new Story({ books: booksFold, attemptsPerStep: limit.attemptsPerStep }),
      new Composer(history),
    );
    this.desk.mode = "idle";
    this.desk.commands = commandChoices;
  }

  event(...events: LogEvent[]): void {
    for (const event of events) {
      this.#seq += 1;
      this.see({ type: "entry", entry: { session: "s", seq: this.#seq, epoch: 1, time: this.now, event } });
    }
  }

  see(item: LiveItem): void {
    this.desk.story.see(item, this.now);
  }

  /** Words of the attempt `a`, as they are streamed. */
  say(text: string, part = "a-1", kind: "text" | "reasoning" = "text"): void {
    this.see({ type: "part.delta", attempt: "a", part, kind, text });
  }

  /** What a terminal sends; the intents that come of it. */
  type(sent: string): Intent[] {
    const keys = [...this.#keys.read(sent), ...this.#keys.flush()];
    return keys.flatMap((key) => this.desk.press(key, this.now) ?? []);
  }

  frame(): Frame {
    const windowTokens = this.windowTokens === undefined ? {} : { windowTokens: this.windowTokens };
    const frame = frameOf(this.desk, this.printer, { model: "m", ...windowTokens }, this.size, this.now);
    this.printed.push(...frame.printed.map(lineText));
    return frame;
  }

  /** The live rows. */
  get live(): string {
    return this.frame().live.map(lineText).join("\n");
  }

  /** All that can be read. */
  get screen(): string {
    const { live } = this;
    return [...this.printed, live].join("\n");
  }
}

export const begun: LogEvent[] = [
  { type: "input.accepted", input: "in", kind: "prompt", content: [{ type: "text", text: "Fix it" }] },
  { type: "turn.started", turn: "t", inputs: ["in"] },
  { type: "step.started", step: "st", turn: "t", number: 1 },
];

export function attempt(number = 1): LogEvent {
  return { type: "attempt.started", attempt: "a", step: "st", number, purpose: "step", model };
}

const nothing = {
  reasoning: false,
  text: false,
  toolInput: false,
  calls: 0,
  readsEntered: 0,
  providerWrite: false,
  serverState: false,
  clientState: false,
  terminal: false,
};

export function broke(end: "discarded" | "sealed" | "failed", delayMs: number): LogEvent {
  const action = end === "discarded" ? "discard" : end === "sealed" ? "seal" : "stop";
  return {
    type: "attempt.ended",
    attempt: "a",
    end,
    exposure: nothing,
    failure: { kind: "stream-broken", message: "read ECONNRESET", retryable: true },
    decision: { action, delayMs, at: 0, reason: "no more attempts" },
    usage: { measure: "unknown" },
    durationMs: 5,
  };
}

export function committed(
  text: string,
  calls: { id: string; tool: string; input: unknown }[] = [],
  tokens = { input: 1_000, output: 20 },
): LogEvent[] {
  const parts = calls.map(({ id, tool, input }) => ({
    type: "tool-call" as const,
    id,
    providerId: id,
    tool,
    input: JSON.stringify(input),
  }));
  return [
    {
      type: "attempt.ended",
      attempt: "a",
      end: "committed",
      exposure: nothing,
      usage: { measure: "reported", ...tokens },
      durationMs: 5,
    },
    {
      type: "message.committed",
      attempt: "a",
      parts: [...(text === "" ? [] : [{ type: "text" as const, id: "a-1", text }]), ...parts],
      finish: { reason: calls.length > 0 ? "tool-calls" : "stop" },
      model,
    },
  ];
}

export function entered(call: string, tool: string, effect: "read" | "write" = "write"): LogEvent {
  return { type: "tool.entered", call, tool, digest: "d", effect, key: "k" };
}

export function settled(call: string, text: string, isError = false): LogEvent {
  return {
    type: "tool.settled",
    call,
    output: { content: [{ type: "text", text }], isError },
    by: "tool",
    durationMs: 3,
  };
}

export const finished: LogEvent[] = [
  { type: "step.ended", step: "st" },
  { type: "turn.ended", turn: "t", outcome: { type: "completed" } },
];
