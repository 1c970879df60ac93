/**
 * A kept conversation as the events of a session.
 *
 * Owns: turns, steps, attempts and their ends; which result is whose. Does not own: formats (translators), writing
 * (import). Invariants:
 * 1. The log keeps what was kept, also what no endpoint takes: the projection heals it, as it does our own.
 * 2. By occurrence: a call arms, a result consumes, until the assistant speaks again. The first result wins; any other is
 *    a note. A call without one is settled as unknown: nobody can say whether it ran.
 * 3. Everything that begins ends (L7). The books say that nothing is known of what it cost (L9).
 * 4. What a turn was is read from what followed: an answer without calls completes it, an input amid answered calls
 *    steers it, and one after a call without a result finds it interrupted.
 */
import { noExposure } from "../attempt/exposure.ts";
import type { Effects } from "../effects.ts";
import { limit } from "../limit.ts";
import type { CallPart, LogEvent, MessagePart, Part, ToolOutput } from "../log/event.ts";
import type { ModelRef, Outcome } from "../log/value.ts";
import { Allowance } from "../tool/allowance.ts";
import { capText, cleanText, tell } from "../tool/output.ts";
import type { WholeOutput, WholePart } from "../tool/returned.ts";
import { codedOutput } from "../tool/settle.ts";
import type { Heard } from "./heard.ts";
import { shown } from "./repair-list.ts";

export interface ChronicleOptions {
  effects: Pick<Effects, "id">;
  /** Keeps bytes beside the log; gives their blob. */
  keep(bytes: Uint8Array): Promise<string>;
  /** Which model gave the answers; undefined: nobody knows, and none of its opaque state is kept. */
  model: ModelRef | undefined;
  /** The name to show where only that is known. */
  modelName: string | undefined;
}

/** An event, and the place in what was read that an error about it names. */
export interface Told {
  event: LogEvent;
  place: string;
}

/** An answer that may still get results. */
interface Open {
  place: string;
  attempt: string;
  parts: MessagePart[];
  model: ModelRef;
  calls: { part: CallPart; output?: WholeOutput }[];
}

/** Long enough to tell what a late result said. */
const noteChars = 4_000;

export class Chronicle {
  readonly #options: ChronicleOptions;
  readonly #unknown: ModelRef;
  #told: Told[] = [];
  /** The answers that the assistant gave in a row, and what was said while their results were still coming. */
  #open: Open[] = [];
  #held: { content: WholePart[]; place: string }[] = [];
  #answered = false;
  #instructions: string[] = [];
  #turn: { id: string; steps: number; broken: boolean } | undefined;
  #lastTurn: string | undefined;
  #begun = false;
  outcome: Outcome["type"] | undefined;

  constructor(options: ChronicleOptions) {
    this.#options = options;
    this.#unknown = { provider: "imported", id: options.modelName ?? "unknown" };
  }

  /** What has been told since this was asked last. */
  take(): Told[] {
    const told = this.#told;
    this.#told = [];
    return told;
  }

  async hear(heard: Heard, place: string): Promise<void> {
    switch (heard.kind) {
      case "instructions":
        if (!this.#begun && this.#open.length === 0) this.#instructions.push(heard.text);
        // Later ones were said at that moment, and stay there.
        else await this.#input([{ type: "text", text: `[system] ${heard.text}` }], place);
        return;
      case "input":
        await this.#input(heard.content, place);
        return;
      case "results":
        for (const { id, output } of heard.results) this.#result(id, output, place);
        return;
      case "answer":
        if (this.#answered || this.#held.length > 0) await this.#close();
        this.#open.push(this.#answer(heard, place));
        if (this.#open.every(({ calls }) => calls.length === 0)) await this.#close();
        return;
    }
  }

  /** The end of what was kept. */
  async end(): Promise<void> {
    await this.#close();
    if (this.#turn) this.#endTurn("interrupted", "the end");
  }

  note(text: string, place: string, data?: string): void {
    this.#tell(place, { type: "note.recorded", about: "import", text, ...(data === undefined ? {} : { data }) });
  }

  #tell(place: string, ...events: LogEvent[]): void {
    for (const event of events) this.#told.push({ event, place });
  }

  #answer({ parts, sealed = false }: Extract<Heard, { kind: "answer" }>, place: string): Open {
    const { effects, model } = this.#options;
    const attempt = effects.id("a");
    const executed = new Map<string, string>();
    const calls: Open["calls"] = [];
    const own = parts.map((said, at): MessagePart => {
      const id = `${attempt}-${at + 1}`;
      const { meta, ...rest } = said;
      const part = { ...rest, id, ...(meta && (model || sealed) ? { meta } : {}) } as MessagePart;
      if (part.type === "tool-call" && part.providerExecuted) executed.set(part.providerId, id);
      else if (part.type === "tool-call") calls.push({ part });
      return part.type === "tool-result" ? { ...part, call: executed.get(part.call) ?? part.call } : part;
    });
    return { place, attempt, parts: own, model: model && !sealed ? model : this.#unknown, calls };
  }

  #result(id: string, output: WholeOutput, place: string): void {
    const calls = this.#open.flatMap((open) => open.calls).filter(({ part }) => part.providerId === id);
    const call = calls.find((each) => each.output === undefined);
    if (this.#open.length > 0) this.#answered = true;
    if (call) {
      call.output = output;
      return;
    }
    const why = calls.length > 0 ? "it had one already" : "no open call has that id";
    const said = output.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    this.note(
      `${place}: a result for call ${shown(id)} was left out: ${why}`,
      place,
      capText(cleanText(said), noteChars),
    );
  }

  async #input(content: WholePart[], place: string): Promise<void> {
    if (this.#open.length > 0) {
      this.#held.push({ content, place });
      return;
    }
    const parts = await Promise.all(content.map((part) => this.#kept(part)));
    if (this.#turn?.broken) this.#endTurn("interrupted", place);
    const input = this.#options.effects.id("in");
    this.#tell(place, { type: "input.accepted", input, kind: this.#turn ? "steer" : "prompt", content: parts });
    if (!this.#turn) this.#startTurn([input], place);
  }

  async #kept(part: WholePart): Promise<Part> {
    if (part.type !== "bytes") return part;
    const { bytes, mediaType } = part;
    if (bytes.byteLength > limit.blobBytes) {
      return { type: "text", text: `[${mediaType}, ${bytes.byteLength} bytes: too large to be kept]` };
    }
    const named = part.filename === undefined ? {} : { filename: part.filename };
    return { type: "file", mediaType, blob: await this.#options.keep(bytes), ...named };
  }

  #startTurn(inputs: string[], place: string): { id: string; steps: number; broken: boolean } {
    const turn = { id: this.#options.effects.id("t"), steps: 0, broken: false };
    const continues = inputs.length === 0 && this.#lastTurn !== undefined ? { continues: this.#lastTurn } : {};
    this.#tell(place, { type: "turn.started", turn: turn.id, inputs, ...continues });
    this.#turn = turn;
    this.#lastTurn = turn.id;
    return turn;
  }

  #endTurn(outcome: "completed" | "interrupted", place: string): void {
    if (this.#turn) this.#tell(place, { type: "turn.ended", turn: this.#turn.id, outcome: { type: outcome } });
    this.#turn = undefined;
    this.outcome = outcome;
  }

  /** No more results can come for what is open. */
  async #close(): Promise<void> {
    const [open, held] = [this.#open, this.#held];
    [this.#open, this.#held, this.#answered] = [[], [], false];
    for (const answer of open) await this.#step(answer);
    for (const { content, place } of held) await this.#input(content, place);
  }

  async #step({ place, attempt, parts, model, calls }: Open): Promise<void> {
    const turn = this.#turn ?? this.#startTurn([], place);
    turn.steps += 1;
    turn.broken = false;
    const step = this.#options.effects.id("st");
    const header = this.#begun ? {} : { header: this.#header() };
    this.#begun = true;
    const reason = calls.length > 0 ? "tool-calls" : "stop";
    this.#tell(
      place,
      { type: "step.started", step, turn: turn.id, number: turn.steps, ...header },
      { type: "attempt.started", attempt, step, number: 1, purpose: "step", model },
      {
        type: "attempt.ended",
        attempt,
        end: "committed",
        exposure: exposureOf(parts, calls.length),
        usage: { measure: "unknown" },
        durationMs: 0,
      },
      { type: "message.committed", attempt, parts, finish: { reason }, model },
    );
    const allowance = new Allowance({ chars: limit.batchOutputChars, images: limit.batchImages }, calls.length);
    for (const { part, output } of calls) {
      if (!output) turn.broken = true;
      const told = output ? await this.#output(part.id, output, allowance) : codedOutput("TOOL_OUTCOME_UNKNOWN");
      this.#tell(place, { type: "tool.settled", call: part.id, output: told, by: output ? "tool" : "recovery" });
    }
    this.#tell(place, { type: "step.ended", step });
    if (calls.length === 0) this.#endTurn("completed", place);
  }

  /** The one cap for every tool holds for what other programs have let in, too. */
  #output(call: string, output: WholeOutput, allowance: Allowance): ToolOutput | Promise<ToolOutput> {
    return tell(output, {
      call,
      keep: (bytes) => this.#options.keep(bytes),
      grant: (chars) => allowance.settle(Math.min(chars, limit.toolOutputChars)),
      show: (images) => allowance.show(images),
    });
  }

  #header() {
    const instructions = this.#instructions.join("\n\n");
    const model = this.#options.model ?? this.#unknown;
    return { model, ...(instructions === "" ? {} : { instructions }), tools: [] };
  }
}

function exposureOf(parts: readonly MessagePart[], calls: number) {
  return {
    ...noExposure(),
    reasoning: parts.some(({ type }) => type === "reasoning"),
    text: parts.some(({ type }) => type === "text"),
    calls,
    providerWrite: parts.some((part) => part.type === "tool-call" && part.providerExecuted === true),
    clientState: parts.some(({ meta }) => meta !== undefined),
    terminal: true,
  };
}
