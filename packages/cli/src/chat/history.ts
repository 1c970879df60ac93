/**
 * What was written in a folder before: lines of JSON in the user's state folder, for no one else to read.
 *
 * Prompts hold secrets more often than people think: the file is the user's alone (0600), and a folder's prompts stay with
 * the folder. History is a comfort: where it cannot be read or written the chat goes on without it.
 */
import { createHash } from "node:crypto";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const mostEntries = 500;
/** Longer ones are worth a file of their own; they are not remembered. */
const mostChars = 20_000;

export class History {
  readonly #file: string;

  constructor(folder: string, env: NodeJS.ProcessEnv = process.env) {
    const given = env["XDG_STATE_HOME"];
    const state = given?.startsWith("/") ? given : join(env["HOME"] ?? homedir(), ".local", "state");
    const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
    this.#file = join(state, "pawl", "history", `${name}.jsonl`);
  }

  /** The oldest first. */
  read(): string[] {
    let text: string;
    try {
      text = readFileSync(this.#file, "utf8");
    } catch {
      return [];
    }
    const lines = text.split("\n").filter((line) => line !== "");
    const kept = lines.slice(-mostEntries);
    if (lines.length > 2 * mostEntries) this.#shorten(kept);
    return kept.flatMap(entryOf);
  }

  add(text: string): void {
    if (text.trim() === "" || text.length > mostChars) return;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      appendFileSync(this.#file, `${JSON.stringify(text)}\n`, { mode: 0o600 });
      // An older file, or one that was copied here, may be open to others.
      chmodSync(this.#file, 0o600);
    } catch {
      // A full or read-only disk: what is typed still counts.
    }
  }

  /** Another process may add a line meanwhile and lose it: a small loss, once in hundreds of lines. */
  #shorten(lines: readonly string[]): void {
    const next = `${this.#file}.${process.pid}`;
    try {
      writeFileSync(next, `${lines.join("\n")}\n`, { mode: 0o600 });
      renameSync(next, this.#file);
    } catch {
      // It stays long.
    }
  }
}

function entryOf(line: string): string[] {
  try {
    const text: unknown = JSON.parse(line);
    return typeof text === "string" ? [text] : [];
  } catch {
    // A line that a crash cut.
    return [];
  }
}
