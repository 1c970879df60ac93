/** What a repair has done, in words for a person and a kind for a program. */

export type RepairKind =
  | "result-missing" // a call had no result and was given one
  | "result-orphan" // a result that no call asked for, or that came too late
  | "result-duplicate"
  | "result-order" // results stood elsewhere than directly after their message, in call order
  | "result-form" // a result that cannot be sent as it was
  | "call-id"
  | "call-input"
  | "tool-name"
  | "provider-call" // a call that the provider runs, without its result
  | "provider-state" // reasoning, signatures and the like went with another change, or on request
  | "reasoning-alone" // reasoning that nothing follows
  | "approval"
  | "blank"
  | "surrogate"
  | "window" // the history began in the middle
  | "form"; // no message, no part, or none that can be sent

export interface Repair {
  /** The index of the message in what was given. */
  at: number;
  kind: RepairKind;
  what: string;
}

/** Says what is done about the message `at`. */
export type Tell = (at: number, kind: RepairKind, what: string) => void;

export type Fields = { readonly [field: string]: unknown };

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Shows a value of any kind in a message, in short. */
export function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // It holds itself, or a bigint.
  }
  text ??= typeof value === "object" ? "an object that is no JSON" : String(value);
  return (text.length > 60 ? `${text.slice(0, 57)}...` : text).toWellFormed();
}
