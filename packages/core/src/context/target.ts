/** Whom a request is for: what decides how the log is told, besides the log itself. */
import type { ModelRef, ReasoningReplay, RequestHeader } from "../log/value.ts";
import { wireToolName } from "./message.ts";

export interface Target {
  provider: string;
  model: string;
  /** Names that the request declares. A declared name goes out as it is spelled. */
  tools: ReadonlySet<string>;
  reasoning?: ReasoningReplay;
  /** Pictures go along; else their names do. */
  images?: "send";
}

export function targetOf({ model, tools, reasoning, images }: RequestHeader): Target {
  return {
    provider: model.provider,
    model: model.id,
    tools: new Set(tools.map((tool) => tool.name)),
    ...(reasoning ? { reasoning } : {}),
    ...(images ? { images } : {}),
  };
}

/** Whether what this model gave goes back to where it came from: opaque state does, to nobody else. */
export function isHome(model: ModelRef, target: Target): boolean {
  return model.provider === target.provider && familyOf(model.id) === familyOf(target.model);
}

/** Anthropic's own rules hold for its models, whoever serves them. */
export function isAnthropic(provider: string): boolean {
  return /anthropic/.test(provider);
}

/** A dated name and its alias are one model: `gpt-5-2025-08-07`, `claude-opus-4-5-20251101`, `-latest`. */
function familyOf(id: string): string {
  return id.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, "");
}

const undeclared: ReadonlySet<string> = new Set();

/** Equal for targets that are told the same: of declared names, only those matter that would be changed otherwise. */
export function targetKey({ provider, model, tools, reasoning, images }: Target): string {
  const odd = [...tools].filter((name) => wireToolName(name, undeclared) !== name).sort();
  return JSON.stringify([provider, model, reasoning ?? null, images ?? null, odd]);
}
