/** The tools that a server lists: all pages, and those of them that can be offered to a model. */
import type { Client } from "@modelcontextprotocol/client";
import { limit } from "@pawl/core";
import { z } from "zod";
import { isShallow } from "./tool-answer.ts";

/** A server with more tools than that is not for a model. */
const mostTools = 256;
const mostPages = 64;
/** A schema goes into every request, and what is deeper than this no provider takes. */
const schemaChars = 50_000;
const schemaDepth = 30;

/** Looser than the protocol: one odd tool does not take the others with it. */
const offeredSchema = z.looseObject({
  name: z.string().min(1).max(200),
  description: z.string().optional().catch(undefined),
  inputSchema: z
    .looseObject({ type: z.literal("object") })
    .refine((schema) => isShallow(schema, schemaDepth), `deeper than ${schemaDepth} levels`)
    .refine((schema) => JSON.stringify(schema).length <= schemaChars, `longer than ${schemaChars} characters`),
  annotations: z
    .looseObject({
      readOnlyHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
    })
    .optional()
    .catch(undefined),
});
export type OfferedTool = z.infer<typeof offeredSchema>;
const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Rejects where the server does not answer, or with something else. */
export async function allTools(client: Client): Promise<unknown[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const all: unknown[] = [];
  let cursor: string | undefined;
  for (let number = 0; number < mostPages; number++) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await client.request({ method: "tools/list", params }, page, {
      timeout: limit.timerMs,
    });
    all.push(...tools);
    if (nextCursor === undefined || nextCursor === cursor) return all;
    cursor = nextCursor;
  }
  return all;
}

/** Those that a model can be told of, and what is wrong with the others. */
export function usableTools(listed: readonly unknown[]): { tools: OfferedTool[]; problems: string[] } {
  const problems: string[] = [];
  const usable = new Map<string, OfferedTool>();
  for (const one of listed) {
    const { success, data, error } = offeredSchema.safeParse(one);
    const name = JSON.stringify((one as { name?: unknown } | null)?.name ?? one)?.slice(0, 80);
    if (!success) problems.push(`${name} (${error.issues[0]?.path.join(".")}: ${error.issues[0]?.message})`);
    else if (usable.has(data.name)) problems.push(`${name} (its name comes twice)`);
    else if (usable.size >= mostTools) problems.push(`${name} (more than ${mostTools} tools)`);
    else usable.set(data.name, data);
  }
  return { tools: [...usable.values()], problems };
}

/** For a warning: the first three, and how many more. */
export function someOf(problems: readonly string[]): string {
  const more = problems.length > 3 ? `, and ${problems.length - 3} more` : "";
  return problems.slice(0, 3).join(", ") + more;
}
