/** What the model calls the tools of servers: names that every provider takes, the same in every run. Pure. */
import { createHash } from "node:crypto";

/** The strictest common rule of providers: `[A-Za-z0-9_-]{1,64}`. */
const nameChars = 64;
const suffixChars = 8;

export interface NamedTool {
  server: string;
  tool: string;
}

/**
 * `mcp__SERVER__TOOL` for each, in the order given; undefined for one that nothing can tell from an earlier one. What would be too
 * long, or the same as another, ends in a part of its hash: which name it gets does not depend on the order of the others.
 */
export function toolNames(tools: readonly NamedTool[]): (string | undefined)[] {
  const plain = tools.map(({ server, tool }) => `mcp__${fit(server)}__${fit(tool)}`);
  const wanted = new Map<string, number>();
  for (const name of plain) wanted.set(name, (wanted.get(name) ?? 0) + 1);
  const taken = new Set<string>();
  return plain.map((name, at) => {
    const alone = wanted.get(name) === 1 && name.length <= nameChars;
    const chosen = alone ? name : `${name.slice(0, nameChars - suffixChars - 1)}_${hash(tools[at])}`;
    if (taken.has(chosen)) return undefined;
    taken.add(chosen);
    return chosen;
  });
}

function fit(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_");
}

function hash(tool: NamedTool | undefined): string {
  return createHash("sha256").update(`${tool?.server}\0${tool?.tool}`).digest("hex").slice(0, suffixChars);
}
