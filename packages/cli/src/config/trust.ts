/**
 * Whose project files are believed: by the folder's real path and the hash of the file's content, remembered in the user's
 * state folder, where nothing of a project comes to.
 *
 * Invariants: a content that was not seen is not trusted; what cannot be read counts as no trust, never as all of it.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PawlError } from "@pawl/core";
import { stateFolder } from "./place.ts";

/** `changed`: it was trusted with another content. */
export type Trust = "trusted" | "changed" | "untrusted";

/** A folder without a file of its own can be trusted, too; a file that comes later is a changed content. */
export const noFile = "none";

interface Remembered {
  [folder: string]: string;
}

export function trustFile(): string {
  return join(stateFolder(), "trust.json");
}

/** `folder` by its real path. */
export function trustIn(folder: string, hash: string): Trust {
  const known = remembered();
  if (!Object.hasOwn(known, folder)) return "untrusted";
  return known[folder] === hash ? "trusted" : "changed";
}

/** Fails with INVALID_INPUT where it cannot be written down. */
export function rememberTrust(folder: string, hash: string | undefined): void {
  const { [folder]: _, ...others } = remembered();
  const next = hash === undefined ? others : { ...others, [folder]: hash };
  const path = trustFile();
  const draft = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${JSON.stringify(next, undefined, 2)}\n`, { mode: 0o600 });
    // Whole or not at all: half a list would be none.
    renameSync(draft, path);
  } catch (cause) {
    rmSync(draft, { force: true });
    throw new PawlError("INVALID_INPUT", `${path} cannot be written (${(cause as Error).message}); check the folder`, {
      cause,
    });
  }
}

function remembered(): Remembered {
  try {
    const value: unknown = JSON.parse(readFileSync(trustFile(), "utf8"));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch {
    return {};
  }
}
