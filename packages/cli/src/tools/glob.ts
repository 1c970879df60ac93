import { stat } from "node:fs/promises";
import { defineTool, type Tool } from "@pawl/core";
import { z } from "zod";
import { listFiles } from "./file-list.ts";
import { missingMessage } from "./source-file.ts";
import { visibleLine } from "./text.ts";
import { type Workspace, wholeTree } from "./workspace.ts";

const pathsShown = 500;

const inputSchema = z.object({
  pattern: z.string().min(1).describe("For example `**/*.ts` (any depth), `src/*.{js,ts}`; relative to path."),
  path: z.string().optional().describe("The folder to look in (default: the workspace)."),
});

/** Gives the files whose paths match, sorted, 500 at most. Leaves out what git ignores, node_modules and .git. Follows no links. */
export function globTool(workspace: Workspace): Tool<z.infer<typeof inputSchema>> {
  return defineTool({
    description:
      "Finds files by a pattern of their path. Hidden files are found; what git ignores, node_modules and .git are not.",
    inputSchema,
    effect: "read",
    locks: () => [wholeTree],
    async execute({ pattern, path = "." }, { signal }) {
      const folder = await workspace.resolve(path, "read");
      const stats = await stat(folder.real).catch(() => undefined);
      if (stats === undefined) throw new Error(await missingMessage(workspace, folder));
      if (!stats.isDirectory()) throw new Error(`${folder.shown} is not a folder: give the folder to look in as path`);
      const found = await listFiles({ folder, pattern, signal });
      const where = folder.shown === "." ? "the workspace" : folder.shown;
      if (found.length === 0) return `No file in ${where} matches ${pattern}. Use **/ to look at any depth.`;
      const prefix = folder.shown === "." ? "" : `${folder.shown}/`;
      const lines = found.slice(0, pathsShown).map((name) => visibleLine(prefix + name));
      if (found.length > pathsShown) lines.push(`[${found.length - pathsShown} more; narrow the pattern]`);
      return lines.join("\n");
    },
  });
}
