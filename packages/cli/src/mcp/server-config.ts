/** An MCP server as a configuration names it: the shape that other agents read, and whether its word on its own tools counts. */
import { z } from "zod";

const trust = {
  /** Whether `readOnlyHint` and `idempotentHint` of its tools are believed; without it every tool counts as a write. */
  trusted: z.boolean().optional().describe("Believe what its tools say about their effects; default false"),
  enabled: z.boolean().optional().describe("Default true"),
  timeoutMs: z.number().int().min(1).optional().describe("Milliseconds that one call may take"),
};

/** A program of this machine that speaks over its standard input and output. */
const programSchema = z.strictObject({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional().describe("Added to a small, safe environment"),
  cwd: z.string().optional(),
  ...trust,
});

/** A server that is reached by streamable HTTP. */
const addressSchema = z.strictObject({
  type: z.literal("http").optional(),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).optional(),
  ...trust,
});

const serverSchema = z.union([programSchema, addressSchema]);
/** By the name that its tools are called with: `mcp__NAME__TOOL`. */
export const serversSchema = z.record(
  z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, "letters, digits, _ and -, at most 32"),
  serverSchema,
);

export type ServerConfig = z.infer<typeof serverSchema>;
export type ServersConfig = z.infer<typeof serversSchema>;
