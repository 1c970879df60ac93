/**
 * `repairMessages`: a history that no endpoint refuses, for whoever keeps their own loop with the AI SDK.
 *
 * The rules of the log's projection (context), over messages that somebody else has kept. Pure. Invariants:
 * 1. A history that is valid comes back as it is, the same objects; so repairing twice is repairing once.
 * 2. Every call that the client runs has one result (exchange), and whatever is edited loses its proof (said).
 * 3. What was sent before an answer keeps its bytes, however the history grows, so that caches hold (L10). But a call of
 *    the provider that was under way goes once the user has spoken over it.
 * 4. System messages stay where they stand: whether one may come later is between the caller and the provider.
 */
import type { ModelMessage } from "@ai-sdk/provider-utils";
import { missingStartMessage } from "../context/message.ts";
import { WireIds } from "../context/wire-id.ts";
import { PawlError } from "../error.ts";
import { Exchange } from "./exchange.ts";
import { unansweredCalls } from "./provider-call.ts";
import { type Fields, isFields, type Repair, shown, type Tell } from "./repair-list.ts";
import { type Desk, saidOf } from "./said.ts";
import { spokenMessage } from "./spoken.ts";
import { wellFormed } from "./well-formed.ts";

export interface RepairOptions {
  /**
   * `drop`: no reasoning, signatures, item ids or calls that a provider ran go back. For another model than the one that
   * gave the history, and for the one request after a provider refused what was replayed. Default: `keep`.
   */
  providerState?: "keep" | "drop";
  /** Names of the tools that the request declares: they go out as they are, however odd. */
  tools?: readonly string[];
}

export interface Repaired {
  messages: ModelMessage[];
  /** In order of the messages. Empty: nothing was wrong. */
  repairs: Repair[];
}

/**
 * A healed copy of `messages`, as `streamText({ messages })` takes them, and what was done, in words. Call it directly
 * before each request, and go on keeping the history as it happened: an approval that still waits for a person is told
 * as never started in the copy. Nothing is changed in place. Fails with INVALID_INPUT for what is no array.
 *
 * @example
 * const { messages, repairs } = repairMessages(history);
 * for (const { at, what } of repairs) console.warn(`message ${at}: ${what}`);
 * const { textStream } = streamText({ model, messages });
 */
export function repairMessages(messages: readonly ModelMessage[], options: RepairOptions = {}): Repaired {
  if (!Array.isArray(messages)) {
    throw new PawlError(
      "INVALID_INPUT",
      `repairMessages takes an array of messages, got ${shown(messages)}; pass what streamText takes as \`messages\``,
    );
  }
  // An edit may take away the result that a call in an earlier message had: then that call goes too, from the start.
  const lost = new Set<string>();
  for (;;) {
    const { repaired, doomed } = repairOnce(messages, options, lost);
    if (doomed.size === 0) return repaired;
    for (const place of doomed) lost.add(place);
  }
}

interface Read {
  at: number;
  message: Fields;
  /** Something of it was no Unicode. */
  healed: boolean;
}

const roles = ["system", "user", "assistant", "tool"];

function repairOnce(
  given: readonly unknown[],
  options: RepairOptions,
  lost: ReadonlySet<string>,
): { repaired: Repaired; doomed: Set<string> } {
  const repairs: Repair[] = [];
  const tell: Tell = (at, kind, what) => repairs.push({ at, kind, what });
  const read = given.flatMap((message, at) => readMessage(message, at, tell) ?? []);
  const desk: Desk = {
    ids: new WireIds(),
    declared: new Set(options.tools),
    providerIds: new Set(),
    dropState: options.providerState === "drop",
    unanswered: new Set([...lost, ...unansweredCalls(read)]),
    waiting: new Map(),
    doomed: new Set(),
    tell,
  };
  const messages: ModelMessage[] = [];
  let exchange = new Exchange(tell);
  const close = (ends: boolean) => {
    for (const message of exchange.close(ends)) messages.push(message);
    exchange = new Exchange(tell);
  };
  for (const { at, message, healed } of read) {
    if (message["role"] === "tool") {
      exchange.answer(message, at, healed);
    } else if (message["role"] === "assistant") {
      const said = saidOf(message, at, healed, desk);
      if (!said) continue;
      if (said.message && !exchange.isOpen) close(false);
      exchange.say(said);
    } else {
      exchange.hold(message as unknown as ModelMessage);
    }
  }
  close(true);
  openWindow(messages, tell);
  repairs.sort((a, b) => a.at - b.at);
  return { repaired: { messages, repairs }, doomed: desk.doomed };
}

/** Undefined: it is no message, or says nothing. What the user and the system said is final with this. */
function readMessage(given: unknown, at: number, tell: Tell): Read | undefined {
  const role = isFields(given) ? given["role"] : undefined;
  if (!isFields(given) || !roles.some((known) => known === role)) {
    tell(at, "form", `what is no message is left out: ${shown(given)}`);
    return undefined;
  }
  const message = wellFormed(given);
  const healed = message !== given;
  if (healed) tell(at, "surrogate", "half a character, which is no Unicode, is replaced");
  if (role === "assistant" || role === "tool") return { at, message, healed };
  const spoken = spokenMessage(message, at, tell);
  return spoken && { at, message: spoken as unknown as Fields, healed };
}

function openWindow(messages: ModelMessage[], tell: Tell): void {
  const first = messages.findIndex(({ role }) => role !== "system");
  if (messages[first]?.role !== "assistant") return;
  messages.splice(first, 0, missingStartMessage() as ModelMessage);
  tell(0, "window", "the history begins with the assistant: a user message that says so stands before it");
}
