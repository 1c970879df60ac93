import { readFile } from "node:fs/promises";
import { defineTool, PawlError, type Tool } from "@pawl/core";
import { z } from "zod";
import { contentHash, type FileMemory } from "./file-memory.ts";
import { fileFailure, preventReplacement, replaceFile } from "./replacement.ts";
import { assertUnchanged, targetContent } from "./target-file.ts";
import { counted, lineCount } from "./text.ts";
import type { Place, Workspace } from "./workspace.ts";

const inputSchema = z.object({
  path: z.string().describe("The file, relative to the workspace or absolute inside of it. Missing folders are made."),
  content: z.string().describe("The whole new content of the file."),
});

/**
 * Creates a file or replaces it whole, atomically; the mode and links to it stay. A file with content must have been read in this
 * process and be unchanged since, or the call is refused. No cap of its own: the model's output is the bound.
 */
export function writeTool(workspace: Workspace, memory: FileMemory): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Writes a whole file: creates it (with its folders) or replaces its content. A file that exists must be read first. " +
      "To change parts of a file use edit.",
    inputSchema,
    effect: "write",
    locks: ({ path }) => workspace.lock(path, "write"),
    async execute({ path, content }, { signal, idempotencyKey, session }) {
      const place = await workspace.resolve(path, "write");
      return await memory.exclusively(place.real, async () => {
        const old = await targetContent(place);
        checkSeen(memory.seen({ session, real: place.real }), place, old);
        await replaceFile({
          real: place.real,
          content,
          key: idempotencyKey,
          signal,
          check: () => assertUnchanged(place, old),
        }).catch((error: unknown) => {
          throw signal.aborted || error instanceof PawlError ? error : fileFailure("writing", place.shown, error);
        });
        memory.remember({ session, real: place.real }, contentHash(content));
        const lines = counted(lineCount(content), "line");
        if (old === undefined) return `created ${place.shown} (${lines})`;
        return `replaced ${place.shown} (${lines}, before ${lineCount(old.toString("utf8"))})`;
      });
    },
    site: ({ input }) => workspace.site(input.path),
    async reconcile({ input, idempotencyKey, session }) {
      const place = await workspace.resolve(input.path, "write").catch(() => undefined);
      if (place === undefined) return { verdict: "unknown" };
      // First the fence, then the look: the other way round the body could finish in between.
      const prevented = await preventReplacement(place.real, idempotencyKey);
      const content = await readFile(place.real).catch(() => undefined);
      if (content?.equals(Buffer.from(input.content))) {
        memory.remember({ session, real: place.real }, contentHash(content));
        return {
          verdict: "done",
          output: `${place.shown} holds exactly this content (looked at after an interruption)`,
        };
      }
      // Without the fence the body may yet run in a process that only seemed dead, or another may have written since.
      return prevented ? { verdict: "not-done" } : { verdict: "unknown" };
    },
  });
}

function checkSeen(seen: string | undefined, place: Place, old: Buffer | undefined): void {
  if (old === undefined || old.length === 0) return;
  if (seen === undefined) {
    throw new PawlError(
      "INVALID_INPUT",
      `${place.shown} exists and you have not read it: read it first, then write or edit`,
    );
  }
  if (seen !== contentHash(old)) {
    throw new PawlError(
      "INVALID_INPUT",
      `${place.shown} has changed since you last saw it: read it again, then write or edit`,
    );
  }
}
