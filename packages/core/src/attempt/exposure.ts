/**
 * What an attempt has let out. Facts only grow, so recovery never has to ask when something was seen.
 */
import type { Exposure } from "../log/value.ts";

export function noExposure(): Exposure {
  return {
    reasoning: false,
    text: false,
    toolInput: false,
    calls: 0,
    readsEntered: 0,
    providerWrite: false,
    serverState: false,
    clientState: false,
    terminal: false,
  };
}

/**
 * Whether a request with these provider options moves state on the server forward: sent again, it would move it twice.
 * `conversation` appends to a stored one, `background` starts a job that lives without its connection.
 */
export function advancesServer(providerOptions: { [provider: string]: unknown } | undefined): boolean {
  return Object.values(providerOptions ?? {}).some((options) => {
    const { conversation, background } = (options ?? {}) as { conversation?: unknown; background?: unknown };
    return (conversation !== undefined && conversation !== null) || background === true;
  });
}

/** The rows of the recovery table, from the safest to the most binding. Exhaustive by construction. */
export type ExposureRow = "nothing" | "reasoning" | "output" | "reads-entered" | "irrevocable";

/** The one row that holds for an exposure: the most binding fact decides. */
export function exposureRow(exposure: Exposure): ExposureRow {
  if (exposure.providerWrite || exposure.serverState) return "irrevocable";
  if (exposure.readsEntered > 0) return "reads-entered";
  if (exposure.text || exposure.toolInput || exposure.calls > 0) return "output";
  if (exposure.reasoning) return "reasoning";
  return "nothing";
}
