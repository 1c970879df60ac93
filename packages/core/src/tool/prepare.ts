/**
 * Tools as the runtime uses them, and calls as they are checked before anything runs.
 *
 * A call that cannot run (unknown tool, unparsable or invalid input) becomes an error result that helps the model to
 * do better; it never throws and is never executed.
 */
import type { JSONSchema7 } from "@ai-sdk/provider";
import { asSchema, type FlexibleSchema, type Schema } from "@ai-sdk/provider-utils";
import type { Effects } from "../effects.ts";
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { CallPart, Effect, Json, ToolOutput } from "../log/event.ts";
import { json, seen } from "../log/shape.ts";
import type { ToolHeader } from "../log/value.ts";
import { thrownText } from "./output.ts";
import { codedOutput } from "./settle.ts";
import { everything, type Lock, type Tool, type ToolSet } from "./tool.ts";

export interface PreparedTool {
  name: string;
  header: ToolHeader;
  effect: Effect;
  timeoutMs: number;
  outputChars: number;
  tool: Tool;
  schema: Pick<Schema, "jsonSchema" | "validate">;
}

export type PreparedTools = ReadonlyMap<string, PreparedTool>;

/**
 * Resolves schemas and defaults. Throws INVALID_INPUT for a tool that nobody would run, neither a body nor the provider,
 * and for figures that are none.
 */
export async function prepareTools(tools: ToolSet): Promise<PreparedTools> {
  const prepared = new Map<string, PreparedTool>();
  for (const [name, given] of Object.entries(tools)) {
    const tool = given as Tool;
    const provider = providerTool(given);
    if (typeof tool.execute !== "function" && !provider?.executes) {
      throw new PawlError(
        "INVALID_INPUT",
        `tool ${seen(name)} has no execute function; give it one, or leave the tool out`,
      );
    }
    const timeoutMs = tool.timeoutMs ?? limit.toolTimeoutMs;
    const outputChars = tool.outputChars ?? limit.toolOutputChars;
    if (!(timeoutMs >= 0 && outputChars >= 0)) {
      throw new PawlError(
        "INVALID_INPUT",
        `tool ${seen(name)}: timeoutMs and outputChars are 0 or more, are ${seen([timeoutMs, outputChars])}`,
      );
    }
    const schema = schemaOf(tool.inputSchema ?? {});
    const inputSchema = (await schema.jsonSchema) as Json;
    const description = typeof tool.description === "string" ? tool.description : undefined;
    prepared.set(name, {
      name,
      header: {
        name,
        ...(description === undefined ? {} : { description }),
        inputSchema,
        ...(provider ? { provider: provider.header } : {}),
      },
      effect: tool.effect ?? "write",
      // A timer set beyond its greatest delay would fire at once.
      timeoutMs: Math.min(timeoutMs, limit.timerMs),
      outputChars,
      tool,
      schema,
    });
  }
  return prepared;
}

/** An AI SDK tool that the provider defines, and perhaps runs. */
function providerTool(
  given: ToolSet[string],
): { header: NonNullable<ToolHeader["provider"]>; executes: boolean } | undefined {
  if (!("type" in given) || given.type !== "provider") return undefined;
  const { id, args, isProviderExecuted } = given;
  return { header: { id, args: JSON.parse(JSON.stringify(args ?? {})) as Json }, executes: isProviderExecuted };
}

function schemaOf(given: Tool["inputSchema"]): PreparedTool["schema"] {
  const bare = typeof given === "object" && given !== null && !("~standard" in given) && !("jsonSchema" in given);
  if (!bare) return asSchema(given as FlexibleSchema);
  return { jsonSchema: given as JSONSchema7 };
}

/** A call that may run, as far as the call itself says. */
export interface RunnableCall {
  ok: true;
  input: unknown;
  locks: readonly Lock[];
  prepared: PreparedTool;
  /** The tool itself asks for a person's approval, whatever the policy allows. */
  needsApproval: boolean;
}

export type CheckedCall = RunnableCall | { ok: false; output: ToolOutput };

/** As `checkCall`, whose locks, rules and validators are others' code: it ends with the signal, or after a while. */
export async function checkInTime(
  part: CallPart,
  tools: PreparedTools,
  { validate, timers }: Pick<Effects, "validate" | "timers">,
  signal?: AbortSignal,
): Promise<CheckedCall> {
  const { promise: cut, resolve } = Promise.withResolvers<CheckedCall>();
  const seconds = limit.toolTimeoutMs / 1000;
  const late = codedOutput("TOOL_INPUT_INVALID", `the input could not be checked within ${seconds} s. Not run.`);
  const ends = [timers.after(limit.toolTimeoutMs, () => resolve(refused(late)))];
  const onAbort = () => ends.push(timers.after(0, () => resolve(refused(codedOutput("TOOL_NOT_STARTED")))));
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  try {
    return await Promise.race([checkCall(part, tools, validate), cut]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    for (const end of ends) end();
  }
}

/** Whether a call may run: tool known, input whole, JSON, valid. */
export async function checkCall(
  part: CallPart,
  tools: PreparedTools,
  validate: Effects["validate"],
): Promise<CheckedCall> {
  if (part.cut) return refused(codedOutput("TOOL_INPUT_CUT"));
  const prepared = tools.get(part.tool);
  if (!prepared) return refused(codedOutput("TOOL_UNKNOWN", unknownTool(part.tool, [...tools.keys()])));
  // Announced as the provider's own, and asked of us.
  if (!prepared.tool.execute)
    return refused(codedOutput("TOOL_UNKNOWN", `${seen(part.tool)} is run by the provider, and cannot be run here.`));
  const parsed = parseInput(part.input);
  if (!parsed.ok)
    return refused(
      codedOutput("TOOL_INPUT_INVALID", `the input is not JSON: ${seen(part.input)}. Send one JSON object.`),
    );
  try {
    const checked = await checkInput(prepared, parsed.value, validate);
    if (!checked.ok)
      return refused(codedOutput("TOOL_INPUT_INVALID", `${checked.issues.slice(0, 8).join("; ")}. Not run.`));
    const { tool } = prepared;
    const locks = (await tool.locks?.(checked.value)) ?? [everything];
    const needsApproval = await asksFor(tool, part, checked.value);
    return { ok: true, input: checked.value, locks, prepared, needsApproval };
  } catch (error) {
    // A check that fails cannot vouch for the call: one that never ran is the better mistake.
    return refused(codedOutput("TOOL_INPUT_INVALID", `the input could not be checked: ${thrownText(error)}. Not run.`));
  }
}

async function asksFor({ needsApproval }: Tool, part: CallPart, input: unknown): Promise<boolean> {
  if (typeof needsApproval !== "function") return needsApproval === true;
  return (await needsApproval(input, { toolCallId: part.id, messages: [], context: {} })) !== false;
}

function refused(output: ToolOutput): CheckedCall {
  return { ok: false, output };
}

/** Blank, absent and null arguments mean no arguments; the schema says whether that is enough. */
function parseInput(text: string): { ok: true; value: unknown } | { ok: false } {
  if (text.trim() === "") return { ok: true, value: {} };
  try {
    const value: unknown = JSON.parse(text) ?? {};
    // Deeper than anything means, and than others' code could walk.
    return json().check(value, "input") === undefined ? { ok: true, value } : { ok: false };
  } catch {
    return { ok: false };
  }
}

async function checkInput(
  { schema }: PreparedTool,
  value: unknown,
  validate: Effects["validate"],
): Promise<{ ok: true; value: unknown } | { ok: false; issues: string[] }> {
  if (schema.validate) {
    const result = await schema.validate(value);
    return result.success ? { ok: true, value: result.value } : { ok: false, issues: issuesOf(result.error) };
  }
  return validate ? validate(await schema.jsonSchema, value) : { ok: true, value };
}

/** Schema libraries nest their issues in causes; each has a message and perhaps a path. */
function issuesOf(error: Error): string[] {
  const holder = [error, error.cause].find(
    (one) => Array.isArray((one as { issues?: unknown } | undefined)?.issues) || Array.isArray(one),
  );
  const issues = Array.isArray(holder) ? holder : (holder as { issues?: unknown[] } | undefined)?.issues;
  if (!issues) return [error.message];
  return (issues as { message?: unknown; path?: unknown }[]).map((issue) => {
    const path = Array.isArray(issue.path) ? issue.path.map(String).join(".") : "";
    return `${path === "" ? "input" : path}: ${String(issue.message)}`;
  });
}

/** Names that are close: a bare "unknown tool" makes models repeat the same call. */
function unknownTool(name: string, known: readonly string[]): string {
  const wanted = simplified(name);
  const close = wanted === "" ? [] : known.filter((one) => isClose(simplified(one), wanted));
  const hint = close.length > 0 ? ` Did you mean ${close.slice(0, 3).join(" or ")}?` : "";
  return `there is no tool ${seen(name)}.${hint} Tools: ${known.slice(0, 40).join(", ") || "none"}.`;
}

function simplified(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** The same but for case and signs, for a namespace before it, or for a slip: one letter in three, two at most. */
function isClose(known: string, wanted: string): boolean {
  if (known === wanted || known.endsWith(wanted) || wanted.endsWith(known)) return true;
  const slips = Math.min(2, Math.floor(known.length / 3));
  return Math.abs(known.length - wanted.length) <= slips && distance(known, wanted) <= slips;
}

/** Levenshtein distance over short names. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
