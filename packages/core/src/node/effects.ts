/** The real world: the only place of core, besides the stores' own files, that touches clock, timers and randomness. */
import { randomFillSync } from "node:crypto";
import type { Effects } from "../effects.ts";
import { validateJsonSchema } from "./validate.ts";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 9 characters of time (until the year 3000 and beyond), 12 of chance: 60 bits per millisecond. */
function timeOrderedId(prefix: string, now: number, bytes: Uint8Array): string {
  let time = "";
  for (let left = now, digit = 0; digit < 9; digit++, left = Math.floor(left / 32)) time = alphabet[left % 32] + time;
  let rest = "";
  for (const byte of bytes) rest += alphabet[byte % 32];
  return `${prefix}_${time}${rest}`;
}

/** Bytes of chance, drawn for many ids at once: a call of the generator costs more than the id. */
function chance(): () => Uint8Array {
  const pool = new Uint8Array(12 * 256);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    at += 12;
    return pool.subarray(at - 12, at);
  };
}

export function nodeEffects(): Effects {
  const bytes = chance();
  return {
    clock: { now: Date.now, monotonic: () => performance.now() },
    timers: {
      after(ms, fn) {
        const timer = setTimeout(fn, ms);
        return () => clearTimeout(timer);
      },
    },
    random: Math.random,
    id: (prefix) => timeOrderedId(prefix, Date.now(), bytes()),
    validate: validateJsonSchema,
  };
}
