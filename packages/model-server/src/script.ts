/**
 * The script language: what the server does with each request, in protocol-neutral steps. The same value works over
 * all three protocols, and is the same in TypeScript and in JSON.
 */

/** A value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Lost on the way: `true` for every frame of the step, a number (or several) for those of its deltas, from 0. */
export type Drop = boolean | number | readonly number[];

/** How a streamed part is delivered. Offsets count as JavaScript does (UTF-16); for ASCII text that is the byte. */
interface Delivery {
  /** Send only the first n deltas and leave the part open; a later `more` step goes on with it. */
  readonly upTo?: number;
  readonly drop?: Drop;
}

export interface TextStep extends Delivery {
  readonly text: string;
  /** In n deltas, or cut at these offsets. Default: one delta. */
  readonly chunks?: number | readonly number[];
}

export interface ReasonStep extends Delivery {
  readonly reason: string;
  readonly chunks?: number | readonly number[];
  /** The opaque proof sent with it. Default: derived from the text, so that the judge knows its own. */
  readonly signature?: string;
  /** Hidden reasoning: only the opaque block is sent (nothing on chat, which has no such thing). */
  readonly redacted?: boolean;
}

export interface CallStep extends Delivery {
  /** The tool's name. */
  readonly call: string;
  /** An object, or the raw argument text, or null for no argument text at all. Default: `{}`. */
  readonly input?: { readonly [key: string]: Json } | string | null;
  /** Default: `call_1`, `toolu_1`, and so on. null leaves the id out, "" sends an empty one. */
  readonly id?: string | null;
  /** Offsets where the argument text is cut into deltas. Default: one delta. */
  readonly split?: readonly number[];
  /** Chat only: the tool-call index, to reuse one. */
  readonly index?: number;
  /** Chat only: `arguments` as a decoded object, as some servers send it. */
  readonly asObject?: boolean;
}

export interface MoreStep {
  /** Goes on with the part that `upTo` left open: n deltas more, or (true) all the rest, which closes it. */
  readonly more: number | true;
}

/** Tokens. `input` and `output` are totals: they include the cached, the cache-written and the reasoning ones. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly reasoning?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** What went wrong, in any protocol's own shape: an in-band frame, or the body of a status. */
export interface Fault {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  /** The status that a non-streaming request gets instead of an in-band frame. */
  readonly status?: number;
}

export type Finish = "stop" | "tool-calls" | "length" | "content-filter" | "refusal" | { readonly raw: string };

export type Step =
  | TextStep
  | ReasonStep
  | CallStep
  | MoreStep
  | { readonly usage: Usage | null }
  | { readonly finish: Finish; readonly drop?: boolean }
  /** In-band error; the stream then closes, unless `thenContinue`. `failed`: as `response.failed` (responses only). */
  | { readonly error: Fault; readonly thenContinue?: boolean; readonly failed?: boolean }
  /** The protocol's opening frames (role chunk, `response.created`, `message_start`) without any content yet. */
  | { readonly start: true; readonly drop?: boolean }
  /** Status line and headers go out now, with an empty body so far. */
  | { readonly headers: true }
  | { readonly ping: true }
  | { readonly comment: string }
  /** A frame whose data is not JSON. */
  | { readonly garbage: true }
  /** Bytes onto the body as they are. */
  | { readonly raw: string | { readonly base64: string } }
  | { readonly wait: number }
  /** Waits until the test calls `server.release(name)`. */
  | { readonly hold: string }
  /** RST on the socket. */
  | { readonly reset: true }
  /** A clean end of the response without the protocol's terminal frame. */
  | { readonly end: true }
  /** Nothing more, connection open, until the client goes or the server closes. */
  | { readonly silence: true }
  /** These steps n times, or until the client goes. */
  | { readonly repeat: readonly Step[]; readonly times?: number };

/** An entry with `when` answers the first request it fits; others are used in order. */
export interface When {
  /** The last user message contains this. */
  readonly lastUserIncludes?: string;
  /** Since then this tool (or the call of this id) has got a result. */
  readonly hasToolResult?: string;
  /** Stays in the script after use. */
  readonly keep?: boolean;
}

export interface PlayedEntry {
  readonly steps: readonly Step[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Write every frame in pieces of so many bytes, so that chunks end inside frames and characters. */
  readonly pieces?: number;
  readonly when?: When;
}

export interface StatusEntry {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, anything else as JSON. Default: the protocol's own error body for that status. */
  readonly body?: Json;
  /** Type and message inside the protocol's own error body. */
  readonly error?: Fault;
  readonly when?: When;
}

export type Entry = readonly Step[] | PlayedEntry | StatusEntry;

export interface ScriptObject {
  readonly entries: readonly Entry[];
  /** Start again from the first entry when all are used. */
  readonly loop?: boolean;
  /** Answers every request after the last entry. */
  readonly fallback?: Entry;
}

export type Script = readonly Entry[] | ScriptObject;
