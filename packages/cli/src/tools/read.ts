import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import { defineTool, limit as runtimeLimit, type Tool } from "@pawl/core";
import { z } from "zod";
import { binaryKind, headBytes, isBinary, pictureType } from "./binary.ts";
import { contentHash, type FileMemory } from "./file-memory.ts";
import { withSourceFile } from "./source-file.ts";
import { byteSize, counted, head, visibleLine } from "./text.ts";
import type { Place, Workspace } from "./workspace.ts";

/** As many lines as one call gives unless told otherwise, and at most: a long source file whole. */
const defaultLines = 2_000;
/** Below the runtime's cap on one result, so that the note on how to go on is never cut. */
const outputChars = 40_000;
/** A longer line is generated or minified: its start tells what it is. */
const lineChars = 2_000;

const inputSchema = z.object({
  path: z.string().describe("The file, relative to the workspace or absolute inside of it."),
  offset: z.number().int().min(1).optional().describe("The first line to read; 1 is the first of the file (default)."),
  limit: z.number().int().min(1).max(100_000).optional().describe(`How many lines to read (default ${defaultLines}).`),
});

/**
 * Gives a file's lines with their numbers, as `12<tab>text`. Caps: 2,000 lines unless `limit` says otherwise, 40,000 characters,
 * 2,000 characters of one line; a note says how to read on. Any size of file is read as a stream. A picture (PNG, JPEG, GIF, WebP) is given as
 * one where the model takes pictures (`images`). What else is not UTF-8 text is summed up.
 */
export function readTool(
  workspace: Workspace,
  memory: FileMemory,
  images: "send" | "name" = "name",
): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Reads a text file. Lines come numbered as `12<tab>text`; the number and the tab are not part of the file. " +
      (images === "send" ? "A picture (png, jpg, gif, webp) is shown. " : "") +
      `Gives ${defaultLines} lines at most unless limit is set; long files are read in parts with offset and limit. For folders use ls.`,
    inputSchema,
    effect: "read",
    locks: ({ path }) => workspace.lock(path, "read"),
    async execute({ path, offset = 1, limit = defaultLines }, { signal, session }) {
      const place = await workspace.resolve(path, "read");
      return await withSourceFile(workspace, place, async (file, size) => {
        const start = await fileHead(file);
        const picture = images === "send" ? pictureType(start) : undefined;
        if (picture !== undefined && size <= runtimeLimit.imageBytes)
          return await pictureOf(file, place, picture, (hash) => memory.remember({ session, real: place.real }, hash));
        if (isBinary(start)) {
          return `${place.shown}: ${binaryKind(start)}, ${byteSize(size)}. ${picture === undefined ? "" : `Pictures are shown up to ${byteSize(runtimeLimit.imageBytes)}. `}Not text, so its bytes are not shown; use bash to inspect or convert it.`;
        }
        const range = new LineRange(offset, limit);
        const hash = createHash("sha256");
        for await (const chunk of file.createReadStream({ start: 0, autoClose: false, signal })) {
          hash.update(chunk);
          range.push(chunk);
        }
        range.end();
        memory.remember({ session, real: place.real }, hash.digest("hex"));
        return range.report(place.shown);
      });
    },
  });
}

async function pictureOf(file: FileHandle, { real, shown }: Place, mediaType: string, seen: (hash: string) => void) {
  const bytes = await file.readFile();
  seen(contentHash(bytes));
  const url = `data:${mediaType};base64,${bytes.toString("base64")}`;
  const text = `${shown}: ${binaryKind(bytes)}, ${byteSize(bytes.length)}`;
  return {
    content: [
      { type: "text", text },
      { type: "file", mediaType, filename: basename(real), url },
    ],
    isError: false,
  };
}

async function fileHead(file: FileHandle): Promise<Uint8Array> {
  const buffer = new Uint8Array(headBytes);
  const { bytesRead } = await file.read(buffer, 0, headBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** Picks a range of lines out of a stream of bytes, in bounded memory. */
class LineRange {
  readonly #offset: number;
  readonly #limit: number;
  readonly #decoder = new TextDecoder("utf-8");
  readonly #out: string[] = [];
  #outChars = 0;
  /** The open line: its start, and its length so far. */
  #line = "";
  #lineLength = 0;
  #lines = 0;
  #crlf = false;
  #full = false;
  #lastByteIsNewline = true;

  constructor(offset: number, limit: number) {
    this.#offset = offset;
    this.#limit = limit;
  }

  push(chunk: Uint8Array): void {
    this.#text(this.#decoder.decode(chunk, { stream: true }));
  }

  end(): void {
    this.#text(this.#decoder.decode());
    if (!this.#lastByteIsNewline) this.#closeLine();
  }

  report(shown: string): string {
    if (this.#lines === 0) return `${shown} is empty.`;
    if (this.#out.length === 0) {
      throw new Error(
        `${shown} has ${counted(this.#lines, "line")}; offset ${this.#offset} is behind its end: use a smaller offset`,
      );
    }
    const last = this.#offset + this.#out.length - 1;
    const notes: string[] = [];
    if (last < this.#lines || this.#offset > 1) notes.push(`lines ${this.#offset}-${last} of ${this.#lines}`);
    if (last < this.#lines) notes.push(`go on with offset ${last + 1}`);
    if (this.#crlf) notes.push("line ends are CRLF");
    return this.#out.join("\n") + (notes.length > 0 ? `\n[${notes.join("; ")}]` : "");
  }

  #text(text: string): void {
    if (text === "") return;
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      this.#grow(text, from, at);
      this.#closeLine();
      from = at + 1;
    }
    this.#grow(text, from, text.length);
    this.#lastByteIsNewline = text.endsWith("\n");
  }

  #grow(text: string, from: number, to: number): void {
    // One unit more than is shown, so that a pair at the edge is seen whole.
    const room = lineChars + 1 - this.#line.length;
    if (room > 0) this.#line += text.slice(from, Math.min(to, from + room));
    this.#lineLength += to - from;
  }

  #closeLine(): void {
    this.#lines += 1;
    let line = this.#line;
    if (line.endsWith("\r") && line.length === this.#lineLength) {
      line = line.slice(0, -1);
      this.#crlf = true;
    }
    if (this.#wanted()) this.#keep(line);
    this.#line = "";
    this.#lineLength = 0;
  }

  #wanted(): boolean {
    return !this.#full && this.#lines >= this.#offset && this.#lines < this.#offset + this.#limit;
  }

  #keep(line: string): void {
    const cut =
      line.length > lineChars ? `${head(line, lineChars)}… [the line has ${this.#lineLength} characters]` : line;
    const numbered = `${this.#lines}\t${visibleLine(cut)}`;
    if (this.#out.length > 0 && this.#outChars + numbered.length > outputChars) {
      this.#full = true;
      return;
    }
    this.#out.push(numbered);
    this.#outChars += numbered.length + 1;
  }
}
