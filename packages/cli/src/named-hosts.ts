/**
 * Hosts that a person has named in what they said: pages of these are fetched without asking. Pure.
 *
 * Only addresses with their scheme count: `README.md`, `main.rs` and `deploy.sh` are names of files far more often than of hosts.
 * What a model, a file or a page says names nothing.
 */
import type { LogEntry, Part } from "@pawl/core";

/** Of one text: whoever pastes more than that has read none of them. */
const mostHosts = 100;

/** In lower case, with the port where it is not the scheme's own. */
export function hostsIn(text: string): Set<string> {
  const found = [...text.matchAll(/\bhttps?:\/\/[^\s<>"'`()[\]{}|\\^]+/gi)].slice(0, mostHosts);
  return new Set(found.flatMap(([address]) => hostOf(address.replace(/[.,;:!?]+$/, "")) ?? []));
}

/** What a session's inputs name, also those that were posted by other processes. */
export function hostsOfInputs(entries: readonly LogEntry[]): Set<string> {
  const texts = entries.flatMap(({ event }) => (event.type === "input.accepted" ? textsOf(event.content) : []));
  return new Set(texts.flatMap((text) => [...hostsIn(text)]));
}

/** Undefined: it is no address. */
export function hostOf(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url && /^https?:$/.test(url.protocol) && url.host !== "" ? url.host : undefined;
}

function textsOf(content: readonly Part[]): string[] {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}
