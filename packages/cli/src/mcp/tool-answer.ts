/** From what a server answers to what the runtime takes as a result, whatever of it is odd: a result is not lost over a part. Pure. */
import type { Json, Part } from "@pawl/core";
import { z } from "zod";

/** Looser than the protocol: an odd block in the result of a tool that has run is shown as it is. */
export const answerSchema = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
export type Answer = z.infer<typeof answerSchema>;

/** Deeper than results mean; what is deeper is told as text, since the runtime would not take it as a value. */
const dataDepth = 100;

export interface ToolAnswer {
  content: Part[];
  isError: boolean;
}

export function toolAnswer({ content = [], structuredContent, isError = false }: Answer): ToolAnswer {
  const parts = content.flatMap(partsOf);
  // Servers are asked to say the same as text, too, for clients that know nothing else.
  const repeated = parts.some((part) => part.type === "text" && sameValue(part.text, structuredContent));
  const told = structuredContent === undefined || structuredContent === null || repeated;
  return { content: told ? parts : [...parts, dataPart(structuredContent)], isError };
}

const blockSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.enum(["image", "audio"]), data: z.string(), mimeType: z.string() }),
  z.object({
    type: z.literal("resource"),
    resource: z.object({
      uri: z.string(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
    }),
  }),
  z.object({
    type: z.literal("resource_link"),
    uri: z.string(),
    name: z.string().optional(),
    mimeType: z.string().optional(),
    description: z.string().optional(),
  }),
]);

function partsOf(block: unknown): Part[] {
  const { success, data } = blockSchema.safeParse(block);
  if (!success) return [dataPart(block)];
  switch (data.type) {
    case "text":
      return [{ type: "text", text: data.text }];
    case "image":
    case "audio":
      return [filePart(data.data, data.mimeType, data.type)];
    case "resource": {
      const { uri, mimeType, text, blob } = data.resource;
      const named: Part = { type: "text", text: `[resource ${uri}${mimeType === undefined ? "" : ` (${mimeType})`}]` };
      if (text !== undefined) return [named, { type: "text", text }];
      if (blob !== undefined) return [named, filePart(blob, mimeType ?? "application/octet-stream", "resource", uri)];
      return [named];
    }
    case "resource_link": {
      const facts = [data.name, data.mimeType, data.description].filter((fact) => fact !== undefined);
      return [{ type: "text", text: `[link to a resource: ${[data.uri, ...facts].join(", ")}]` }];
    }
  }
}

/** Bytes as the runtime takes them in; what is no base64 would be nothing but a long address. */
function filePart(data: string, mimeType: string, what: string, uri?: string): Part {
  const base64 = data.replace(/\s+/g, "");
  const mediaType = /^[\w.+-]+\/[\w.+-]+/.exec(mimeType)?.[0] ?? "application/octet-stream";
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64))
    return { type: "text", text: `[${what}, ${mediaType}: its ${data.length} characters are not base64, not shown]` };
  const filename = uri?.split(/[?#]/, 1)[0]?.split("/").at(-1);
  return {
    type: "file",
    mediaType,
    ...(filename ? { filename } : {}),
    url: `data:${mediaType};base64,${base64}`,
  };
}

function dataPart(value: unknown): Part {
  return isShallow(value, dataDepth)
    ? { type: "data", data: value as Json }
    : { type: "text", text: JSON.stringify(value) ?? "" };
}

/** Whether it is not deeper than that. Values come from a parser of JSON: there are no cycles. */
export function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}

function sameValue(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}
