/** What is searched: each reads bytes that others have made, and throws where what it reads does not hold. */
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type ErrorCode, isPawlError, type LogEntry, verify } from "@pawl/core";

export interface Target {
  /** Inputs that are read well: where the search begins. */
  seeds: readonly Uint8Array[];
  /** What the format is made of. */
  words: readonly string[];
  run(input: Uint8Array): Promise<void>;
}

export const targetNames = ["codec", "transfer", "import", "wire", "repair", "permission"] as const;

/**
 * Each is loaded alone, so that only what it needs counts as reached. A name that ends in `.ts` is the path of a module whose
 * `target` makes one: what only its own package may know is searched from there.
 */
export async function targetOf(name: string): Promise<Target> {
  if (name.endsWith(".ts")) {
    const { target } = (await import(pathToFileURL(resolve(name)).href)) as { target(): Target };
    return target();
  }
  switch (name) {
    case "codec":
      return (await import("./fuzz-log.ts")).codecTarget();
    case "transfer":
      return (await import("./fuzz-log.ts")).transferTarget();
    case "import":
      return (await import("./fuzz-history.ts")).importTarget();
    case "repair":
      return (await import("./fuzz-history.ts")).repairTarget();
    case "wire":
      return await (await import("./fuzz-wire.ts")).wireTarget();
    case "permission":
      return (await import("./fuzz-permission.ts")).permissionTarget();
    default:
      throw new Error(`--target ${JSON.stringify(name)} is none of ${targetNames.join(", ")}, and no path of a module`);
  }
}

/** Undefined where it was refused in the documented way. Anything else that is thrown goes on. */
export async function refusedWith<T>(codes: readonly ErrorCode[], what: () => Promise<T> | T): Promise<T | undefined> {
  try {
    return await what();
  } catch (error) {
    if (codes.some((code) => isPawlError(error, code))) return undefined;
    throw error;
  }
}

export function assertLawful(entries: readonly LogEntry[], when: string): void {
  const broken = verify(entries).flatMap(({ violations }) => violations.map(({ law, message }) => `${law} ${message}`));
  assert.deepEqual(broken, [], `a law is broken ${when}`);
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
/** As a file or a socket is read: what is no UTF-8 becomes the sign for it. */
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
