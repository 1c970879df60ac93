import { readFile } from "node:fs/promises";
import { defineTool, PawlError, type Tool } from "@pawl/core";
import { createTwoFilesPatch } from "diff";
import { z } from "zod";
import { binaryKind, headBytes } from "./binary.ts";
import { applyEdits, type Edit, looksEdited } from "./edit-match.ts";
import { contentHash, type FileMemory } from "./file-memory.ts";
import { fileFailure, preventReplacement, replaceFile } from "./replacement.ts";
import { missingMessage } from "./source-file.ts";
import { assertUnchanged, targetContent } from "./target-file.ts";
import { counted, head, visible } from "./text.ts";
import type { Place, Workspace } from "./workspace.ts";

/** A longer diff says no more than "all of it"; the model can read the file. */
const diffChars = 8_000;
/** Changed lines for which a diff is worked out; its cost grows with their square. */
const diffLines = 2_000;

const inputSchema = z.object({
  path: z.string().describe("The file, relative to the workspace or absolute inside of it."),
  edits: z
    .array(
      z.object({
        old: z
          .string()
          .describe("The exact text to replace, without line numbers. It must occur once, unless all is set."),
        new: z.string().describe("The text to put in its place."),
        all: z.boolean().optional().describe("Replace every occurrence."),
      }),
    )
    .min(1)
    .max(100)
    .describe("All are matched against the file as it is now, and must not overlap. All are made, or none."),
});

/**
 * Replaces exact texts in a file, all or none, atomically; line ends, byte order mark, mode and a final newline are kept. Gives a
 * unified diff, 8,000 characters of it at most. Files up to 32 MB of UTF-8.
 */
export function editTool(workspace: Workspace, memory: FileMemory): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Changes a text file by replacing exact texts. Each `old` must be found exactly once (or set all); if one is not, nothing is changed. " +
      "Put several changes of one file into one call. The result is a diff.",
    inputSchema,
    effect: "write",
    locks: ({ path }) => workspace.lock(path, "write"),
    async execute({ path, edits }, { signal, idempotencyKey, session }) {
      const place = await workspace.resolve(path, "write");
      return await memory.exclusively(place.real, async () => {
        const old = await targetContent(place);
        if (old === undefined) throw new Error(await missingMessage(workspace, place));
        const before = decoded(old, place);
        const { text: after, tolerant } = applyEdits(before, edits);
        await replaceFile({
          real: place.real,
          content: after,
          key: idempotencyKey,
          signal,
          check: () => assertUnchanged(place, old),
        }).catch((error: unknown) => {
          throw signal.aborted || error instanceof PawlError ? error : fileFailure("editing", place.shown, error);
        });
        memory.remember({ session, real: place.real }, contentHash(after));
        return report(place, edits, tolerant, before, after);
      });
    },
    site: ({ input }) => workspace.site(input.path),
    async reconcile({ input, idempotencyKey }) {
      const place = await workspace.resolve(input.path, "write").catch(() => undefined);
      if (place === undefined) return { verdict: "unknown" };
      // First the fence, then the look: the other way round the body could finish in between.
      if (await preventReplacement(place.real, idempotencyKey)) return { verdict: "not-done" };
      const content = await readFile(place.real).catch(() => undefined);
      if (content === undefined || !looksEdited(content.toString("utf8"), input.edits)) return { verdict: "unknown" };
      const output = `${place.shown} contains the new text of ${counted(input.edits.length, "edit")} and none of the old (looked at after an interruption)`;
      return { verdict: "done", output };
    },
  });
}

/** Exactly, or not at all: replaced bytes would be written back as something else. */
function decoded(bytes: Buffer, place: Place): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Error(
      `${place.shown} is no UTF-8 text (${binaryKind(bytes.subarray(0, headBytes))}): an edit would damage it, use bash`,
      { cause },
    );
  }
}

function report(place: Place, edits: Edit[], tolerant: number[], before: string, after: string): string {
  const notes =
    tolerant.length > 0 ? ` (white space forgiven in edit ${tolerant.join(", ")}: check the indentation)` : "";
  const diff = createTwoFilesPatch(place.shown, place.shown, plain(before), plain(after), undefined, undefined, {
    context: 3,
    maxEditLength: diffLines,
  });
  if (diff === undefined)
    return `edited ${place.shown}: ${counted(edits.length, "edit")}${notes}\n[too many lines changed for a diff]`;
  // The first lines only name the file, twice, under a ruler.
  const body = visible(diff.slice(diff.indexOf("@@")));
  const cut =
    body.length > diffChars
      ? `${head(body, diffChars)}\n[the diff is cut; read the file for the rest]`
      : body.trimEnd();
  return `edited ${place.shown}: ${counted(edits.length, "edit")}${notes}\n${cut}`;
}

/** A diff of line ends would mark every line of the hunk. */
function plain(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
