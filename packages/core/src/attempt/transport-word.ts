/**
 * The custom transport contract: what a transport itself says about another try. A computed value is no statement.
 */
import { isError, read, readString } from "./chain.ts";

/**
 * In this order: the error that our fetch wrapper noted; the innermost error that says so and is no `APICallError`; an
 * `APICallError` whose value differs from its status's default. `wireStatus` is the status that really came: an
 * `APICallError` with another one was made up from a frame, and so was its value.
 */
export function transportWord(
  chain: readonly unknown[],
  noted: unknown,
  wireStatus: number | undefined,
): boolean | undefined {
  // A recovered model has asked as often as it may; what lies beneath its error spoke of a single request.
  if (chain.some((link) => readString(link, "name") === "ModelCallFailed")) return false;
  if (isError(noted) && !isApiCallError(noted)) {
    const said = read(noted, "isRetryable");
    if (typeof said === "boolean") return said;
  }
  const own = chain.filter((link) => isError(link) && !isApiCallError(link)).map((link) => read(link, "isRetryable"));
  const innermost = own.filter((said) => typeof said === "boolean").at(-1);
  if (innermost !== undefined) return innermost;
  for (const link of chain) {
    const said = isApiCallError(link) ? departure(link, wireStatus) : undefined;
    if (said !== undefined) return said;
  }
  return undefined;
}

/**
 * Providers say `true` of every fetch that failed without an answer and of every 2xx body that broke, whatever broke
 * it: only beside an error status can a value depart from a default.
 */
function departure(call: unknown, wireStatus: number | undefined): boolean | undefined {
  const said = read(call, "isRetryable");
  const status = read(call, "statusCode");
  if (typeof said !== "boolean" || typeof status !== "number" || status < 300) return undefined;
  if (wireStatus !== undefined && status !== wireStatus) return undefined;
  const standard = status === 408 || status === 409 || status === 429 || status >= 500;
  return said === standard ? undefined : said;
}

function isApiCallError(link: unknown): boolean {
  return readString(link, "name") === "AI_APICallError";
}
