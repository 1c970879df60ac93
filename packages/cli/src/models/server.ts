/** Which models a server has: `GET /models`, as OpenAI-compatible servers and Anthropic's answer it. */
import { PawlError } from "@pawl/core";

/** A server on this machine answers at once or not at all; one far away in a few seconds. */
export const nearMs = 3_000;
const farMs = 15_000;

export interface Server {
  name: string;
  url: string;
}

/** Where local servers listen unless told otherwise. */
export const wellKnown: readonly Server[] = [
  { name: "Ollama", url: "http://127.0.0.1:11434/v1" },
  { name: "llama.cpp", url: "http://127.0.0.1:8080/v1" },
  { name: "vLLM", url: "http://127.0.0.1:8000/v1" },
];

/** Rejects with words that say what was wrong with the answer. */
export async function modelsAt(
  url: string,
  headers: { [name: string]: string } = {},
  timeoutMs = farMs,
): Promise<string[]> {
  const response = await globalThis.fetch(`${url}/models`, {
    headers: { accept: "application/json", ...headers },
    signal: AbortSignal.timeout(timeoutMs),
    // A key must not follow where a foreign server points.
    redirect: "error",
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`it answers ${response.status}`);
  }
  const { data } = ((await response.json()) ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) throw new Error("it lists no models");
  return data.flatMap((one: unknown) => {
    const { id } = (one ?? {}) as { id?: unknown };
    return typeof id === "string" && id !== "" ? [id] : [];
  });
}

export interface Local extends Server {
  models: string[];
}

/**
 * The server at the address that was given, else the first of the well-known ones that answers. Fails with INVALID_INPUT, saying where
 * it was looked for.
 */
export async function localServer(given: string | undefined, servers: readonly Server[] = wellKnown): Promise<Local> {
  const asked = given === undefined ? servers : [{ name: "the server", url: given }];
  const answers = await Promise.all(
    asked.map(async (server) => {
      try {
        return { ...server, models: await modelsAt(server.url, {}, nearMs) };
      } catch (error) {
        return { ...server, problem: problemOf(error) };
      }
    }),
  );
  const found = answers.find((answer): answer is Local => "models" in answer && answer.models.length > 0);
  if (found) return found;
  const seen = answers.map((answer) => `${answer.url} (${"models" in answer ? "no model is loaded" : answer.problem})`);
  throw new PawlError(
    "INVALID_INPUT",
    `--local: no model at ${seen.join(", ")}; start a server with a model, or give its address: --local http://HOST:PORT/v1`,
  );
}

/** What a request failed of, in a few words. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "no answer in time";
  const { code, message } = (error.cause ?? {}) as { code?: unknown; message?: unknown };
  if (code === "ECONNREFUSED") return "nothing listens there";
  if (typeof code === "string") return code;
  return typeof message === "string" ? message : error.message;
}

/** Models that only embed text cannot talk. */
export function talking(models: readonly string[]): string[] {
  const able = models.filter((id) => !/embed|rerank|whisper|tts|moderation/i.test(id));
  return able.length > 0 ? able : [...models];
}
