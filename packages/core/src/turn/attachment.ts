/** The bytes of pictures, put into a prompt as it leaves: what the fold has of them is where they are. */
import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { blobScheme } from "../context/message.ts";
import { isPawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { Store } from "../store/store.ts";

type UserContent = Extract<LanguageModelV4Message, { role: "user" }>["content"];

/** Messages without pictures stay the very same. */
export async function withAttachments(store: Store, prompt: LanguageModelV4Prompt): Promise<LanguageModelV4Prompt> {
  if (!prompt.some(hasPicture)) return prompt;
  return Promise.all(
    prompt.map(async (message) => {
      if (!hasPicture(message)) return message;
      const content = await Promise.all(message.content.map((part) => attached(store, part)));
      return { ...message, content };
    }),
  );
}

function hasPicture(message: LanguageModelV4Message): message is LanguageModelV4Message & { role: "user" } {
  return message.role === "user" && message.content.some((part) => hashOf(part) !== undefined);
}

async function attached(store: Store, part: UserContent[number]): Promise<UserContent[number]> {
  const hash = hashOf(part);
  if (hash === undefined || part.type !== "file") return part;
  const bytes = await bytesOf(store, hash);
  if (bytes && bytes.byteLength > 0 && bytes.byteLength <= limit.imageBytes)
    return { ...part, data: { type: "data", data: bytes } };
  // The same words every time: a picture that was erased or damaged, is empty, or larger than endpoints take.
  return { type: "text", text: `[${part.filename ?? "a picture"} (${part.mediaType}) cannot be shown]` };
}

async function bytesOf(store: Store, hash: string): Promise<Uint8Array | undefined> {
  try {
    return await store.getBlob(hash);
  } catch (error) {
    if (isPawlError(error, "CORRUPT")) return undefined;
    throw error;
  }
}

function hashOf(part: UserContent[number]): string | undefined {
  const url = part.type === "file" ? urlOf(part) : undefined;
  return url?.startsWith(blobScheme) ? url.slice(blobScheme.length) : undefined;
}

function urlOf({ data }: LanguageModelV4FilePart): string | undefined {
  return data.type === "url" ? data.url.href : undefined;
}
