/**
 * What the assistant asked for and what came of it: the messages it gave in a row, up to the next time it spoke.
 *
 * Owns: which result is whose, and where results stand. Invariants:
 * 1. By occurrence: a call arms, a result consumes. The first result wins; what comes after the assistant has spoken
 *    again is too late: the next answer was given without it.
 * 2. Every call has one result, directly after its message, in call order, before anything else that was said.
 * 3. A call that a person has just allowed or denied, in the last message, has none: the SDK runs or refuses it next.
 * 4. Where nothing was wrong, the messages are the same objects.
 */
import type { ModelMessage } from "@ai-sdk/provider-utils";
import { toolResult } from "../context/message.ts";
import { codedOutput } from "../tool/settle.ts";
import { answerOutput } from "./answer.ts";
import { type Fields, isFields, shown, type Tell } from "./repair-list.ts";
import type { Call, Said } from "./said.ts";
import { isShowable, spokenMessage } from "./spoken.ts";

/** A call with what came of it. */
interface Asked {
  call: Call;
  at: number;
  asked?: Request;
  result?: Fields;
}

interface Request {
  approval: string;
  /** Undefined: of a call that the provider runs. */
  call: Asked | undefined;
  response?: Fields;
}

interface Turn {
  said: Said;
  message: ModelMessage;
  calls: Asked[];
  requests: Request[];
}

export class Exchange {
  readonly #tell: Tell;
  readonly #turns: Turn[] = [];
  /** The tool messages as they were, and what of them stays, in order. */
  readonly #answers: { at: number; message: Fields; kept: Fields[] }[] = [];
  readonly #held: ModelMessage[] = [];
  #touched = false;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  /** Whether the assistant may go on in the same breath: nothing has come between. */
  get isOpen(): boolean {
    return this.#answers.length === 0 && this.#held.length === 0;
  }

  say(said: Said): void {
    const { at, message } = said;
    if (message) {
      const calls = said.calls.map((call): Asked => ({ call, at }));
      const requests = said.requests.map(({ approval, call }): Request => {
        const asked = calls.find((each) => each.call === call);
        const request = { approval, call: asked };
        if (asked) asked.asked = request;
        return request;
      });
      this.#turns.push({ said, message, calls, requests });
    }
    for (const stray of said.strays) {
      if (this.#result(stray, at)) this.#tell(at, "result-order", "a result stood in an assistant message");
      this.#touched = true;
    }
  }

  /** What was said between: it stands after the results. */
  hold(message: ModelMessage): void {
    this.#held.push(message);
  }

  answer(message: Fields, at: number, healed: boolean): void {
    const { content } = message;
    if (!Array.isArray(content) || content.length === 0) {
      this.#tell(at, "form", `a tool message without results is left out: its content is ${shown(content)}`);
      return;
    }
    const behind = this.#held.length > 0 && this.#turns.length > 0;
    if (behind || healed) this.#touched = true;
    if (behind) this.#tell(at, "result-order", "results stood behind another message");
    const asides: Fields[] = [];
    const kept = content.flatMap((part): Fields[] => {
      const stays = this.#part(part, at, asides);
      if (stays !== part) this.#touched = true;
      return stays ? [stays] : [];
    });
    if (kept.length > 0) this.#answers.push({ at, message, kept });
    const aside = asides.length > 0 ? spokenMessage({ role: "user", content: asides }, at, this.#tell) : undefined;
    if (!aside) return;
    this.#held.push(aside);
    this.#tell(at, "result-order", "what stood between results follows them, as a user message");
  }

  #part(part: unknown, at: number, asides: Fields[]): Fields | undefined {
    const type = isFields(part) ? part["type"] : undefined;
    if (isFields(part) && type === "tool-result") return this.#result(part, at);
    if (isFields(part) && type === "tool-approval-response") return this.#response(part, at);
    if (isFields(part) && (isShowable(part) || (type === "text" && typeof part["text"] === "string")))
      asides.push(part);
    else this.#tell(at, "form", `a part is left out of a tool message, which cannot hold it: ${shown(part)}`);
    return undefined;
  }

  #result(part: Fields, at: number): Fields | undefined {
    const id = typeof part["toolCallId"] === "string" ? part["toolCallId"] : "";
    const calls = this.#turns.flatMap((turn) => turn.calls).filter(({ call }) => call.id === id);
    const asked = calls.find(({ result }) => result === undefined);
    if (!asked) {
      const [kind, why] =
        calls.length > 0
          ? (["result-duplicate", "it has one already"] as const)
          : (["result-orphan", "nothing before it asked for it, or the assistant has spoken since"] as const);
      this.#tell(at, kind, `a result for call ${shown(id)} is left out: ${why}`);
      return undefined;
    }
    const { wireId: toolCallId, name: toolName } = asked.call;
    const output = answerOutput(part);
    const formed = output === part["output"];
    if (!formed) this.#tell(at, "result-form", `the result of call ${shown(id)} is told as every endpoint takes it`);
    if (part["toolName"] !== asked.call.tool) {
      this.#tell(at, "tool-name", `a result of ${shown(part["toolName"])} answers a call of ${shown(toolName)}`);
    }
    const same = formed && toolCallId === part["toolCallId"] && toolName === part["toolName"];
    const { result: _, isError: __, ...rest } = part;
    asked.result = same ? part : { ...rest, type: "tool-result", toolCallId, toolName, output };
    return asked.result;
  }

  #response(part: Fields, at: number): Fields | undefined {
    const id = part["approvalId"];
    const request = this.#turns.flatMap(({ requests }) => requests).find(({ approval }) => approval === id);
    if (request && !request.response && typeof part["approved"] === "boolean") {
      request.response = part;
      return part;
    }
    this.#tell(
      at,
      "approval",
      `an answer to approval ${shown(id)} is left out: nothing asks for it here, or it has one`,
    );
    return undefined;
  }

  /** The messages, valid. `ends`: nothing of the history follows. */
  close(ends: boolean): ModelMessage[] {
    const last = ends && this.#held.length === 0 ? this.#answers.at(-1) : undefined;
    // Only what the assistant said last can still wait: after an earlier message of it, its next one follows.
    const runs = this.#turns.map((turn, at) => this.#run(turn, last !== undefined && at === this.#turns.length - 1));
    const before = this.#answers.flatMap(({ kept }) => kept.filter(isResult));
    const results = runs.flatMap((run) => run.filter(isResult));
    const ordered = results.length === before.length && results.every((part, at) => part === before[at]);
    const split = this.#turns.slice(0, -1).some(({ calls }) => calls.length > 0);
    const late = last !== undefined && this.#waiting().some((part) => !last.kept.includes(part));
    if (split || (!ordered && before.length > 1)) this.#sayOrder(before, results, split);
    if (late) this.#tell(last.at, "approval", "the answers of a person stand together in the last message");
    const untouched = ordered && !split && !late && !this.#touched;
    const messages = this.#turns.flatMap(({ message }, at): ModelMessage[] => {
      const run = untouched ? [] : (runs[at] ?? []);
      return run.length > 0 ? [message, { ...this.#frame(), content: run } as unknown as ModelMessage] : [message];
    });
    const kept = untouched ? this.#answers.map(({ message }) => message as unknown as ModelMessage) : [];
    return [...messages, ...kept, ...this.#held];
  }

  #sayOrder(before: readonly Fields[], results: readonly Fields[], split: boolean): void {
    const found = results.filter((part) => before.includes(part));
    if (!split && found.every((part, at) => part === before[at])) return;
    const at = this.#answers[0]?.at ?? this.#turns[0]?.said.at ?? 0;
    this.#tell(at, "result-order", "results stand directly after their message, in call order");
  }

  /** A tool message keeps what else it carries, where it stays one message. */
  #frame(): Fields {
    const [only, ...more] = this.#answers;
    return only && more.length === 0 && this.#turns.length === 1 ? only.message : { role: "tool" };
  }

  /** Answers of a person that the SDK acts on next. */
  #waiting(): Fields[] {
    const requests = this.#turns.at(-1)?.requests ?? [];
    return requests.flatMap(({ call, response }): Fields[] => (call && !call.result && response ? [response] : []));
  }

  #run(turn: Turn, mayWait: boolean): Fields[] {
    const results = turn.calls.flatMap((asked): Fields[] => {
      if (!asked.result && mayWait && asked.asked?.response) return [];
      return [asked.result ?? this.#missing(turn, asked)];
    });
    return [...results, ...turn.requests.flatMap(({ response }): Fields[] => (response ? [response] : []))];
  }

  #missing(turn: Turn, { call, at, asked }: Asked): Fields {
    const { wireId, name } = call;
    const label = `call ${shown(call.id)} (${shown(name)}) had no result`;
    if (asked?.response?.["approved"] === false) {
      const { reason } = asked.response;
      this.#tell(at, "result-missing", `${label}: it is told that a person denied it`);
      const output = { type: "execution-denied", ...(typeof reason === "string" ? { reason } : {}) };
      return { type: "tool-result", toolCallId: wireId, toolName: name, output };
    }
    const neverRan = asked !== undefined && !asked.response;
    // What waits for nobody any more must not be allowed later: its call is settled.
    if (neverRan) dropRequest(turn, asked);
    this.#tell(
      at,
      "result-missing",
      `${label}: it is told that ${neverRan ? "it was never started" : "its outcome is unknown"}`,
    );
    return { ...toolResult(name, wireId, codedOutput(neverRan ? "TOOL_NOT_STARTED" : "TOOL_OUTCOME_UNKNOWN")) };
  }
}

function dropRequest(turn: Turn, request: Request): void {
  turn.requests = turn.requests.filter((other) => other !== request);
  const content = (turn.message.content as unknown as Fields[]).filter(
    (part) => part["type"] !== "tool-approval-request" || part["approvalId"] !== request.approval,
  );
  turn.message = { ...turn.message, content } as unknown as ModelMessage;
}

function isResult(part: Fields): boolean {
  return part["type"] === "tool-result";
}
