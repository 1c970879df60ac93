/** The real world: the only place of core, besides the stores' own files, that touches clock, timers and randomness. */
import { randomBytes } from "node:crypto";
import type { Effects } from "../effects.ts";
import { validateJsonSchema } from "./validate.ts";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 9 characters of time (until the year 3000 and beyond), 12 of chance: 60 bits per millisecond. */
export function timeOrderedId(prefix: string, now: number, bytes: Uint8Array): string {
  let time = "";
  for (let rest = now, digit = 0; digit < 9; digit++, rest = Math.floor(rest / 32)) time = alphabet[rest % 32] + time;
  let chance = "";
  for (const byte of bytes) chance += alphabet[byte % 32];
  return `${prefix}_${time}${chance}`;
}

export function nodeEffects(): Effects {
  return {
    clock: { now: Date.now, monotonic: () => performance.now() },
    timers: {
      after(ms, fn) {
        const timer = setTimeout(fn, ms);
        return () => clearTimeout(timer);
      },
    },
    random: Math.random,
    id: (prefix) => timeOrderedId(prefix, Date.now(), randomBytes(12)),
    validate: validateJsonSchema,
  };
}
