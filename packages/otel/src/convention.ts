/**
 * The names of the OpenTelemetry conventions for generative AI, and ours.
 *
 * They are those of semantic conventions 1.41 to 1.45, whose status is *development*, and what backends read today;
 * `gen_ai.execute_tool.duration` is of the separate GenAI conventions, whose 0.1 renames the other metrics. A renaming is a
 * change of this file.
 */
import type { Attributes } from "@opentelemetry/api";
import type { ModelRef, Usage } from "@pawl/core";

interface Metric {
  instrument: "counter" | "histogram";
  unit: string;
  description: string;
  buckets?: number[];
}

/** Powers of two and four, as the conventions advise. */
const seconds = Array.from({ length: 14 }, (_, n) => 2 ** n / 100);
const tokens = Array.from({ length: 14 }, (_, n) => 4 ** n);
/** Turns, and people, take longer than requests. */
const long = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 14_400, 86_400];

function histogram(unit: string, description: string, buckets: number[]): Metric {
  return { instrument: "histogram", unit, description, buckets };
}

function counter(unit: string, description: string): Metric {
  return { instrument: "counter", unit, description };
}

export const metrics = {
  "gen_ai.client.operation.duration": histogram("s", "GenAI operation duration.", seconds),
  "gen_ai.client.operation.time_to_first_chunk": histogram("s", "Time to receive the first chunk.", seconds),
  "gen_ai.client.token.usage": histogram("{token}", "Number of input and output tokens used.", tokens),
  "gen_ai.execute_tool.duration": histogram("s", "Time a tool's body took.", seconds),
  "pawl.turns": counter("{turn}", "Turns that ended, by outcome."),
  "pawl.turn.elapsed": histogram("s", "Requests, waits and tools of a turn, summed; no downtime, no people.", long),
  "pawl.attempts": counter("{attempt}", "Physical requests that ended, by end and decision."),
  "pawl.retries": counter("{attempt}", "Requests after the first of their step."),
  "pawl.wait.duration": histogram("s", "Waits decided before another request.", seconds),
  "pawl.cost": counter("{unit}", "Price of requests, in units of the agent's price list."),
  "pawl.tool.settlements": counter("{call}", "Results of calls, by who gave them and by code."),
  "pawl.approval.duration": histogram("s", "How long a person was asked.", long),
  "pawl.compactions": counter("{compaction}", "Conversations cut, summed up or dropped."),
  "pawl.takeovers": counter("{takeover}", "Open turns that another drive went on with or closed."),
  "pawl.worker.claims": counter("{claim}", "Sessions that a worker was given to drive, by whether a turn was open."),
  "pawl.worker.turns": counter("{turn}", "Turns that ended under a worker, by outcome."),
  "pawl.worker.releases": counter("{claim}", "Claims that ended: released, handed over, parked or lost."),
  "pawl.worker.store_outages": counter("{outage}", "Times a worker's store stopped answering."),
  "pawl.pauses": counter("{pause}", "Times the store took nothing more (live only)."),
  "pawl.pause.duration": histogram("s", "How long the store took nothing more (live only).", long),
} as const satisfies { [name: string]: Metric };

export type MetricName = keyof typeof metrics;

/** One figure for one instrument. */
export interface Measurement {
  metric: MetricName;
  value: number;
  attributes: Attributes;
}

/** What fits several prefixes has the longer one first. */
const providers: readonly (readonly [prefix: string, name: string])[] = [
  ["anthropic", "anthropic"],
  ["openai", "openai"],
  ["azure", "azure.ai.openai"],
  ["amazon-bedrock", "aws.bedrock"],
  ["bedrock", "aws.bedrock"],
  ["google.vertex", "gcp.vertex_ai"],
  ["google-vertex", "gcp.vertex_ai"],
  ["google", "gcp.gemini"],
  ["mistral", "mistral_ai"],
  ["moonshotai", "moonshot_ai"],
  ["xai", "x_ai"],
  ["groq", "groq"],
  ["deepseek", "deepseek"],
  ["cohere", "cohere"],
  ["perplexity", "perplexity"],
];

/** The conventions' name of an AI SDK provider (`openai.responses`); one they do not know keeps its own. */
export function providerName(provider: string): string {
  const known = providers.find(([prefix]) => provider === prefix || provider.startsWith(`${prefix}.`));
  return known?.[1] ?? provider;
}

export function modelAttributes(model: ModelRef): Attributes {
  return { "gen_ai.provider.name": providerName(model.provider), "gen_ai.request.model": model.id };
}

/** An estimate of ours is no usage: whoever sums the conventions' figures must get what providers reported. */
export function usageAttributes(usage: Usage): Attributes {
  if (usage.measure !== "reported") {
    const { measure, input, output } = usage;
    return {
      "pawl.usage.measure": measure,
      ...(measure === "estimated"
        ? { "pawl.usage.estimated_input_tokens": input, "pawl.usage.estimated_output_tokens": output }
        : {}),
    };
  }
  return {
    "pawl.usage.measure": "reported",
    "gen_ai.usage.input_tokens": usage.input,
    "gen_ai.usage.output_tokens": usage.output,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheRead,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWrite,
  };
}
