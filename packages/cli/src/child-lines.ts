/** What a person sees of a task's own session while it runs: a line for each of its calls, and its questions. */
import type { EventOf, LiveItem } from "@pawl/core";
import type { Tone } from "./style.ts";
import { isAsking } from "./tools/asking.ts";
import { callWords, decisionWords, failureWords } from "./words.ts";

export interface Child {
  session: string;
  agent: string;
}

export interface ChildScreen {
  line(tone: Tone, text: string): void;
  /** A question of the child is next. */
  asks(call: string): void;
}

export class ChildLines {
  readonly #screen: ChildScreen;
  readonly #calls = new Map<string, string>();

  constructor(screen: ChildScreen) {
    this.#screen = screen;
  }

  show(item: LiveItem, child: Child): void {
    if (item.type === "approval.pending") return this.#asks(item.approval.call, child);
    if (item.type === "tool.progress" && isAsking(item.data)) return this.#screen.asks(item.call);
    if (item.type !== "entry") return;
    const { event } = item.entry;
    switch (event.type) {
      case "message.committed":
        for (const part of event.parts)
          if (part.type === "tool-call") this.#calls.set(part.id, callWords(part.tool, part.input, 120));
        return;
      case "tool.settled": {
        const { isError } = event.output;
        return this.#line(isError ? "warn" : "quiet", child, `${isError ? "✗" : "✓"} ${this.#words(event.call)}`);
      }
      case "attempt.ended":
        return this.#failed(event, child);
      default:
        return;
    }
  }

  #asks(call: string, child: Child): void {
    this.#line("warn", child, `asks whether it may: ${this.#words(call)}`);
    this.#screen.asks(call);
  }

  #failed({ failure, decision }: EventOf<"attempt.ended">, child: Child): void {
    if (!failure || failure.kind === "aborted") return;
    const then = decision ? `; ${decisionWords(decision, 1, undefined)}` : "";
    this.#line("warn", child, `✗ ${failureWords(failure)}${then}`);
  }

  #words(call: string): string {
    return this.#calls.get(call) ?? call;
  }

  #line(tone: Tone, { agent }: Child, text: string): void {
    this.#screen.line(tone, `  ↳ ${agent}: ${text}`);
  }
}
