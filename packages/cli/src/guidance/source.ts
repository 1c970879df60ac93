/**
 * Files that people wrote for the model, as far as they may be read: whole folders of a cloned repository are foreign, and a link in it
 * must not lead the text of a private file into a request.
 */
import { closeSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { printable } from "../style.ts";
import { within } from "../tools/workspace.ts";

/** One file is never the whole context. */
const fileChars = 32_000;

export interface GuidanceFile {
  path: string;
  text: string;
  /** There is more of it. */
  cut: boolean;
}

/** `inside`: where a link may lead; undefined: anywhere, since the file is the user's own. Undefined where there is none to read. */
export function readGuidance(path: string, inside: string | undefined): GuidanceFile | undefined {
  try {
    const real = realpathSync(path);
    if (inside !== undefined && !within(inside, real)) return undefined;
    // A pipe would never end.
    if (!statSync(real).isFile()) return undefined;
    // A UTF-16 unit is three bytes at most.
    const bytes = Buffer.alloc(3 * fileChars + 4);
    const file = openSync(real, "r");
    try {
      const length = readSync(file, bytes, 0, bytes.length, 0);
      const whole = printable(bytes.subarray(0, length).toString("utf8")).trim();
      const text = [...whole.slice(0, fileChars + 1)].slice(0, fileChars).join("").trimEnd();
      return text === "" ? undefined : { path, text, cut: text.length < whole.length || length === bytes.length };
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
