import type { Dirent } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { defineTool, type Tool } from "@pawl/core";
import { z } from "zod";
import { fileFailure } from "./replacement.ts";
import { missingMessage } from "./source-file.ts";
import { byteSize, visibleLine } from "./text.ts";
import { errorCode, type Workspace, wholeTree } from "./workspace.ts";

const entriesShown = 500;

const inputSchema = z.object({ path: z.string().optional().describe("The folder (default: the workspace).") });

/** Gives the entries of one folder, sorted, 500 at most: folders with `/`, links with their target, files with their size. */
export function lsTool(workspace: Workspace): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Lists one folder, hidden entries included: folders end with /, links show their target, files their size.",
    inputSchema,
    effect: "read",
    locks: () => [wholeTree],
    async execute({ path = "." }) {
      const place = await workspace.resolve(path, "read");
      let entries: Dirent[];
      try {
        entries = await readdir(place.real, { withFileTypes: true });
      } catch (error) {
        if (errorCode(error) === "ENOENT") throw new Error(await missingMessage(workspace, place), { cause: error });
        if (errorCode(error) === "ENOTDIR") throw new Error(`${place.shown} is a file: use read`, { cause: error });
        throw fileFailure("listing", place.shown, error);
      }
      if (entries.length === 0) return `${place.shown} is an empty folder.`;
      entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      const lines = await Promise.all(entries.slice(0, entriesShown).map((entry) => line(place.real, entry)));
      if (entries.length > entriesShown) lines.push(`[${entries.length - entriesShown} more; use glob to pick]`);
      return lines.join("\n");
    },
  });
}

async function line(folder: string, entry: Dirent): Promise<string> {
  const name = visibleLine(entry.name);
  const path = join(folder, entry.name);
  if (entry.isDirectory()) return `${name}/`;
  if (entry.isSymbolicLink()) return `${name} -> ${visibleLine(await readlink(path).catch(() => "?"))}`;
  if (!entry.isFile()) return `${name}  (pipe, socket or device)`;
  const stats = await lstat(path).catch(() => undefined);
  return stats ? `${name}  ${byteSize(stats.size)}` : name;
}
