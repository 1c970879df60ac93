/** Tools whose results, progress and errors are told without this process's secrets. Any tool set: those of other servers, too. */
import type { Tool, ToolContext, ToolSet } from "@pawl/core";
import type { SecretMask } from "./secret-mask.ts";

export function maskedTools(tools: ToolSet, mask: SecretMask): ToolSet {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, masked(tool as Tool, mask)])) as ToolSet;
}

function masked(tool: Tool, mask: SecretMask): Tool {
  const { execute, reconcile } = tool;
  return {
    ...tool,
    ...(execute
      ? { execute: (input, context) => told(() => execute.call(tool, input, maskedContext(context, mask)), mask) }
      : {}),
    ...(reconcile ? { reconcile: async (call) => mask.value(await reconcile.call(tool, call)) } : {}),
  };
}

function maskedContext(context: ToolContext, mask: SecretMask): ToolContext {
  return { ...context, progress: (data) => context.progress(mask.value(data)) };
}

function told(run: () => unknown, mask: SecretMask): unknown {
  let output: unknown;
  try {
    output = run();
  } catch (error) {
    throw mask.error(error);
  }
  if (isStream(output)) return streamed(output, mask);
  return Promise.resolve(output).then(
    (value) => (isStream(value) ? streamed(value, mask) : mask.value(value)),
    (error: unknown) => {
      throw mask.error(error);
    },
  );
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function* streamed(values: AsyncIterable<unknown>, mask: SecretMask): AsyncGenerator<unknown, void> {
  try {
    for await (const value of values) yield mask.value(value);
  } catch (error) {
    throw mask.error(error);
  }
}
