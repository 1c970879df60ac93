/** A file that names MCP servers as other agents' `.mcp.json` does: `{ "mcpServers": { "NAME": { … } } }`. */
import { readFileSync } from "node:fs";
import { PawlError } from "@pawl/core";
import { getNodeValue } from "jsonc-parser";
import type { z } from "zod";
import { JsonText, oneLine, placeName } from "../config/json-text.ts";
import { type ServersConfig, serversSchema } from "./server-config.ts";

/** Throws INVALID_INPUT with the file, the place in it, and what belongs there. */
export function readServersFile(path: string): ServersConfig {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw invalid(path, `cannot be read (${cause instanceof Error ? cause.message : cause}): name a file that can`);
  }
  return parseServers(text, path);
}

export function parseServers(text: string, path: string): ServersConfig {
  const root = new JsonText(text, path).tree();
  const value: unknown = root && getNodeValue(root);
  const servers = (value as { mcpServers?: unknown } | null | undefined)?.mcpServers;
  if (servers === undefined) throw invalid(path, 'has no "mcpServers": write { "mcpServers": { "NAME": { … } } }');
  const { data, error } = serversSchema.safeParse(servers);
  if (data) return data;
  throw invalid(
    path,
    error.issues
      .slice(0, 3)
      .map((issue) => said(issue, servers))
      .join("; "),
  );
}

function invalid(path: string, what: string): PawlError {
  return new PawlError("INVALID_INPUT", `${path}: ${what}`);
}

/** Of the two shapes that a server may have, what keeps it from the one that it is meant to be. */
function said(issue: z.core.$ZodIssue, servers: unknown): string {
  const place = placeName(["mcpServers", ...issue.path]);
  if (issue.code === "invalid_key") return `${place}: a name has letters, digits, _ and -, at most 32`;
  if (issue.code !== "invalid_union") return `${place}: ${oneLine(issue.message)}`;
  const named = (servers as Record<string, object | null>)[String(issue.path[0])];
  const [program, address] = issue.errors;
  const isAddress = typeof named === "object" && named !== null && "url" in named;
  if (typeof named !== "object" || named === null || !("command" in named || isAddress))
    return `${place}: a server has a "command" (a program) or a "url" (streamable HTTP)`;
  const issues = (isAddress ? address : program) ?? [];
  return `${place}: ${issues.map(({ path, message }) => [placeName(path), oneLine(message)].filter(Boolean).join(": ")).join("; ")}`;
}
