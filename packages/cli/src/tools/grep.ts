import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { defineTool, PawlError, type Tool } from "@pawl/core";
import { z } from "zod";
import { listFiles, namesSkipped } from "./file-list.ts";
import { type GrepFound, type GrepQuery, grepText } from "./grep-line.ts";
import { findRipgrep, RipgrepFailure, searchWithRipgrep } from "./grep-ripgrep.ts";
import { javascriptRegex, scanFiles } from "./grep-scan.ts";
import { missingMessage } from "./source-file.ts";
import { quoted } from "./text.ts";
import { type Place, type Workspace, wholeTree } from "./workspace.ts";

const defaultLimit = 100;
const mostMatches = 1_000;
const mostContext = 20;

const inputSchema = z.object({
  pattern: z.string().min(1).describe("A regular expression, matched against each line."),
  path: z.string().optional().describe("The file or folder to search (default: the workspace)."),
  glob: z.string().min(1).optional().describe("Only files whose path matches, for example `*.ts` or `src/**/*.md`."),
  ignoreCase: z.boolean().optional(),
  context: z.number().int().min(0).max(mostContext).optional().describe("Lines to show around each match (default 0)."),
  limit: z
    .number()
    .int()
    .min(1)
    .max(mostMatches)
    .optional()
    .describe(`Matching lines to give (default ${defaultLimit}).`),
});
type Input = z.infer<typeof inputSchema>;

/**
 * Gives the lines that match, as `path:line: text`, by path and line. By ripgrep where it is installed, else by a scanner of our own.
 * Caps: 100 matches unless `limit` says otherwise, 400 characters of a line, 40,000 in all, 30 seconds. Leaves out binary files, files
 * above 32 MB, what git ignores, node_modules and .git; follows no links.
 */
export function grepTool(workspace: Workspace, env: NodeJS.ProcessEnv): Tool<Input> {
  const ripgrep = findRipgrep(env);
  return defineTool({
    description:
      "Searches the content of files for a regular expression and gives the matching lines as `path:line: text`. " +
      "Hidden files are searched; binary files, files above 32 MB, what git ignores, node_modules and .git are not.",
    inputSchema,
    effect: "read",
    locks: () => [wholeTree],
    async execute(input, { signal }) {
      if (input.pattern.includes("\0") || input.glob?.includes("\0")) {
        throw new PawlError(
          "INVALID_INPUT",
          "the pattern or glob contains a NUL character: remove it; binary files are not searched",
        );
      }
      const place = await workspace.resolve(input.path ?? ".", "read");
      const stats = await stat(place.real).catch(() => undefined);
      if (stats === undefined) throw new Error(await missingMessage(workspace, place));
      const query = grepQuery(input, place, stats.isFile(), signal);
      const found = await search({ ...place, real: query.folder }, query, ripgrep, env);
      if (found.lines.length === 0) {
        const folder = place.shown === "." ? "the workspace" : place.shown;
        const where = input.glob === undefined ? folder : `${folder} (files ${input.glob})`;
        return `No line matches ${quoted(input.pattern)} in ${where}.${found.note === undefined ? "" : `\n[${found.note}]`}`;
      }
      const shownFolder = workspace.show(query.folder);
      return grepText(found, shownFolder === "." ? "" : `${shownFolder}/`, query.context);
    },
  });
}

function grepQuery(input: Input, place: Place, isFile: boolean, signal: AbortSignal): GrepQuery {
  return {
    folder: isFile ? dirname(place.real) : place.real,
    ...(isFile ? { file: basename(place.real) } : {}),
    pattern: input.pattern,
    ...(input.glob === undefined ? {} : { glob: input.glob }),
    ignoreCase: input.ignoreCase ?? false,
    context: input.context ?? 0,
    limit: input.limit ?? defaultLimit,
    unfiltered: isFile || namesSkipped(place, input.glob ?? ""),
    signal,
  };
}

async function search(
  folder: Place,
  query: GrepQuery,
  ripgrep: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<GrepFound> {
  if (ripgrep !== undefined) {
    try {
      return await searchWithRipgrep(ripgrep, env, query);
    } catch (error) {
      if (!(error instanceof RipgrepFailure)) throw error;
      // Look-around, say, is beyond ripgrep and not beyond us. What neither understands is told in our words.
      javascriptRegex(query.pattern, query.ignoreCase);
    }
  }
  javascriptRegex(query.pattern, query.ignoreCase);
  if (query.file !== undefined) return await scanFiles(query, [query.file]);
  const glob = query.glob ?? "**";
  const not = glob.startsWith("!") ? "!" : "";
  const path = glob.slice(not.length);
  // As ripgrep has it: a pattern without a folder is for names at any depth, and one with ! is for all others.
  const pattern = not + (path.includes("/") ? path : `**/${path}`);
  return await scanFiles(query, await listFiles({ folder, pattern, signal: query.signal }));
}
