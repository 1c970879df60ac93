/**
 * What a provider package gets to see of an event stream: whole frames, mended where the package would lose something,
 * and nothing behind the terminal frame.
 *
 * Most chunks only carry text: they are looked at for a few marks and go on as the bytes they were. The marks are JSON
 * keys with unescaped quotes, which the text of an answer cannot contain.
 */

import { read } from "./chain.ts";
import { CallMender } from "./chat-frame.ts";
import { dataOf, FrameCutter, framesOf, parsed, withData } from "./frame.ts";
import { terminalOf } from "./terminal.ts";
import type { Wire } from "./wire.ts";

export type WireProtocol = "chat" | "responses" | "anthropic" | "unknown";

const callMarks = ['"tool_calls":[', '"tool_calls": ['];
const chatMarks = ['finish_reason":"', 'finish_reason": "'];
const responsesMarks = ['"response.completed"', '"response.incomplete"', '"response.failed"'];
const anthropicMarks = ['"message_stop"'];

/**
 * What terminal frames, and frames to be mended, cannot be without, in the spellings that serializers give them. A `null`
 * reason and `"tool_calls":null`, which some servers send with every delta, are none of them. Each mark is one more pass
 * over every byte, so a protocol looks for its own alone.
 */
const marks: Record<WireProtocol, readonly string[]> = {
  chat: [...chatMarks, ...callMarks],
  responses: responsesMarks,
  anthropic: anthropicMarks,
  unknown: [...chatMarks, ...responsesMarks, ...anthropicMarks],
};

export class FrameFilter {
  /** Nothing more may go on: the terminal frame has passed. */
  over = false;

  readonly #wire: Wire;
  readonly #cutter = new FrameCutter();
  readonly #decoder = new TextDecoder();
  readonly #encoder = new TextEncoder();
  readonly #marks: readonly string[];
  readonly #mender: CallMender | undefined;

  constructor(wire: Wire, protocol: WireProtocol) {
    this.#wire = wire;
    this.#marks = marks[protocol];
    this.#mender = protocol === "chat" ? new CallMender() : undefined;
  }

  /** The bytes that go on now, or undefined. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    const bytes = this.#cutter.push(chunk);
    if (!bytes) return undefined;
    const text = this.#decoder.decode(bytes);
    if (!this.#wire.whole && !this.#marked(text)) return bytes;
    return this.#readFrames(text, bytes);
  }

  /** At the end of the body: a last frame that only lacks its blank line is whole. */
  end(): Uint8Array | undefined {
    const bytes = this.#cutter.rest();
    if (!bytes || this.over) return undefined;
    const text = this.#decoder.decode(bytes);
    const data = dataOf(text);
    if (data === undefined || !parsed(data)) return bytes;
    const whole = `${text.trimEnd()}\n\n`;
    return this.#readFrames(whole, this.#encoder.encode(whole));
  }

  #marked(text: string): boolean {
    for (const mark of this.#marks) if (text.includes(mark)) return true;
    return false;
  }

  #readFrames(text: string, bytes: Uint8Array): Uint8Array | undefined {
    let changed = false;
    const kept: string[] = [];
    for (const frame of framesOf(text)) {
      const result = this.over ? undefined : this.#readFrame(frame);
      changed ||= result !== frame;
      if (result !== undefined) kept.push(result);
    }
    if (!changed) return bytes;
    return kept.length > 0 ? this.#encoder.encode(kept.map((frame) => `${frame}\n\n`).join("")) : undefined;
  }

  /** The frame as it goes on; undefined drops it. */
  #readFrame(frame: string): string | undefined {
    // Alone or beside others: what a frame is must not depend on how the bytes were cut.
    if (!this.#wire.whole && !this.#marked(frame)) return frame;
    const data = dataOf(frame);
    if (data === undefined) return frame;
    if (this.#wire.whole && data.trim() === "[DONE]") {
      this.over = true;
      return frame;
    }
    const json = parsed(data);
    if (this.#wire.whole && (!json || read(json.value, "error"))) {
      // The answer is whole: what is broken behind it must not make it void.
      this.#wire.note(`after the terminal frame came ${data.slice(0, 200)}`);
      return undefined;
    }
    if (!json) return frame;
    const mended = this.#mender?.mend(json.value);
    const terminal = terminalOf(json.value);
    if (terminal) this.#wire.nowWhole();
    if (terminal?.last) this.over = true;
    return mended ? withData(frame, JSON.stringify(json.value)) : frame;
  }
}
