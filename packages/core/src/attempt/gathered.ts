/** The parts of one good answer as the content of one message: what `doGenerate` gives. */
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4ResponseMetadata,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { assert } from "../error.ts";

type Growing = Extract<LanguageModelV4Content, { type: "text" | "reasoning" }>;

export interface Gathered
  extends Pick<LanguageModelV4GenerateResult, "content" | "finishReason" | "usage" | "providerMetadata" | "warnings"> {
  metadata: LanguageModelV4ResponseMetadata;
}

/** Reads a stream that is known to end with its finish. Rejects where it does not. */
export async function gather(stream: ReadableStream<LanguageModelV4StreamPart>): Promise<Gathered> {
  const content: LanguageModelV4Content[] = [];
  const open = new Map<string, Growing>();
  const warnings: Gathered["warnings"] = [];
  let metadata: LanguageModelV4ResponseMetadata = {};
  let end: Extract<LanguageModelV4StreamPart, { type: "finish" }> | undefined;
  for await (const part of stream) {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        grow(content, open, part);
        break;
      case "stream-start":
        warnings.push(...part.warnings);
        break;
      case "response-metadata": {
        const { type: _, ...said } = part;
        metadata = { ...metadata, ...said };
        break;
      }
      case "finish":
        end = part;
        break;
      case "tool-result":
        if (!part.preliminary) content.push(part);
        break;
      case "tool-call":
      case "tool-approval-request":
      case "custom":
      case "file":
      case "reasoning-file":
      case "source":
        content.push(part);
        break;
      case "error":
        throw part.error;
      default:
        // Pieces of calls that come whole, raw frames, pings, and what a newer package invents.
        break;
    }
  }
  assert(end, "a whole answer has a finish");
  const { finishReason, usage, providerMetadata } = end;
  return { content, finishReason, usage, ...(providerMetadata ? { providerMetadata } : {}), warnings, metadata };
}

type Piece = Extract<LanguageModelV4StreamPart, { type: `${"text" | "reasoning"}-${"start" | "delta" | "end"}` }>;

function grow(content: LanguageModelV4Content[], open: Map<string, Growing>, piece: Piece): void {
  const type = piece.type.startsWith("text") ? "text" : "reasoning";
  const key = `${type} ${piece.id}`;
  const known = piece.type.endsWith("-start") ? undefined : open.get(key);
  const part: Growing = known ?? { type, text: "" };
  if (!known) {
    content.push(part);
    open.set(key, part);
  }
  if ("delta" in piece) part.text += piece.delta;
  if (part.type === "text" && "citations" in piece && piece.citations) part.citations = piece.citations;
  const meta = merged(part.providerMetadata, piece.providerMetadata);
  if (meta) part.providerMetadata = meta;
}

/** A later piece adds to what an earlier one said: a signature comes in pieces of its own. */
function merged(
  before: SharedV4ProviderMetadata | undefined,
  said: SharedV4ProviderMetadata | undefined,
): SharedV4ProviderMetadata | undefined {
  if (!before || !said) return said ?? before;
  const all = { ...before };
  for (const [provider, values] of Object.entries(said)) all[provider] = { ...all[provider], ...values };
  return all;
}
