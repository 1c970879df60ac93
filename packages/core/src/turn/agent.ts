/** What a session is driven with: model, tools and rules. Not recorded as such; what it sends is (request header). */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { defaultPolicy, policyOf, type RecoveryPolicy } from "../attempt/policy.ts";
import { defaultWatch, type WatchPolicy } from "../attempt/watchdog.ts";
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { seen } from "../log/shape.ts";
import type { ModelRef, RequestHeader, Settings, Usage } from "../log/value.ts";
import type { Approver, Permission } from "../tool/approval.ts";
import { type PreparedTools, prepareTools } from "../tool/prepare.ts";
import type { ToolSet } from "../tool/tool.ts";

export interface Agent {
  /** Any AI SDK `LanguageModelV4`. */
  model: LanguageModelV4;
  tools?: ToolSet;
  instructions?: string;
  settings?: Settings;
  toolChoice?: NonNullable<RequestHeader["toolChoice"]>;
  providerOptions?: NonNullable<RequestHeader["providerOptions"]>;
  /** Changes to {@link defaultPolicy}: data, per failure kind and per budget. */
  recovery?: Partial<RecoveryPolicy>;
  /** Changes to {@link defaultWatch}, milliseconds; 0 switches a deadline off. */
  watch?: Partial<WatchPolicy>;
  /** Default: everything is allowed. */
  permission?: Permission;
  /** Who is asked where the policy says `ask`. Without one, `ask` is an immediate denial. */
  approver?: Approver;
  stepsPerTurn?: number;
  concurrentTools?: number;
  /** How long a body may take to listen to its signal, ms. */
  toolGraceMs?: number;
  /** The price of one request, in units of your price list. */
  price?(usage: Usage, model: ModelRef): number | undefined;
}

/** An agent with every default filled in and every schema resolved. */
export interface PreparedAgent {
  model: LanguageModelV4;
  tools: PreparedTools;
  header: RequestHeader;
  recovery: RecoveryPolicy;
  watch: WatchPolicy;
  permission: Permission;
  approver: Approver | undefined;
  stepsPerTurn: number;
  concurrentTools: number;
  toolGraceMs: number;
  price: NonNullable<Agent["price"]>;
}

/** Throws INVALID_INPUT for a figure with which no turn could come to its end. */
export async function prepareAgent(agent: Agent): Promise<PreparedAgent> {
  const atLeast = { stepsPerTurn: 1, concurrentTools: 1, toolGraceMs: 0 };
  for (const [name, least] of Object.entries(atLeast)) {
    const value = agent[name as keyof typeof atLeast];
    if (value !== undefined && !(value >= least)) {
      throw new PawlError("INVALID_INPUT", `the agent's ${name} is ${least} or more, is ${seen(value)}`);
    }
  }
  const tools = await prepareTools(agent.tools ?? {});
  return {
    model: agent.model,
    tools,
    header: headerOf(agent, tools),
    recovery: agent.recovery ? policyOf(agent.recovery) : defaultPolicy,
    watch: { ...defaultWatch, ...agent.watch },
    permission: agent.permission ?? (() => "allow"),
    approver: agent.approver,
    stepsPerTurn: agent.stepsPerTurn ?? limit.stepsPerTurn,
    concurrentTools: agent.concurrentTools ?? limit.concurrentTools,
    toolGraceMs: Math.min(agent.toolGraceMs ?? limit.toolGraceMs, limit.timerMs),
    price: agent.price ?? (() => undefined),
  };
}

function headerOf(agent: Agent, tools: PreparedTools): RequestHeader {
  return {
    model: { provider: agent.model.provider, id: agent.model.modelId },
    ...(agent.instructions === undefined ? {} : { instructions: agent.instructions }),
    tools: [...tools.values()].map((tool) => tool.header),
    ...(agent.settings ? { settings: agent.settings } : {}),
    ...(agent.toolChoice ? { toolChoice: agent.toolChoice } : {}),
    ...(agent.providerOptions ? { providerOptions: agent.providerOptions } : {}),
  };
}
