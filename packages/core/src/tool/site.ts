/**
 * Where a call has its effects, for tools whose effects stay on the machine that runs them: a command, a file.
 *
 * Owns: whether a recovery stands at the place where a call was entered, and what is said where it does not. Does not own: what is
 * found there (the tool's `reconcile`). Pure. Invariants:
 * 1. Only at that very place, on that host, is the world asked: any other folder has an answer, too, and it is about another
 *    world. The worse failure is to be told there that a command never began.
 */
import type { ToolEntered, ToolOutput } from "../log/event.ts";
import type { RunnableCall } from "./prepare.ts";
import { codedOutput } from "./settle.ts";

export interface Site {
  /** Equal only where it is the same place: a path alone is not, since every machine has it. */
  id: string;
  /** Where a person finds what is left of the call: a path. */
  where: string;
}

/** A machine, as the holder of a lease names it. */
export interface Host {
  host: string;
  /** Changes with every boot; `unknown` where the system does not tell. */
  boot: string;
}

export type EnteredSite = NonNullable<ToolEntered["site"]>;

/** Of a call that may run, where its tool is of a place. One that cannot say which is of none that anybody comes back to. */
export function siteOf({ prepared: { tool }, input }: RunnableCall, idempotencyKey: string): Site | undefined {
  if (!tool.site) return undefined;
  try {
    const { id, where } = tool.site({ input, idempotencyKey });
    if (typeof id === "string" && typeof where === "string") return { id, where };
  } catch {
    // As if it had said nothing that can be recorded.
  }
  return { id: nowhere, where: "a place that is not known" };
}

/** An id that is no place's. */
const nowhere = "";

/** What `tool.entered` says of it. */
export function enteredSite({ id, where }: Site, { host, boot }: Host): EnteredSite {
  return { host, boot, id, where };
}

/** `site`: the tool's, as it is for this process. */
export function isHere(entered: EnteredSite, site: Site | undefined, here: Host): boolean {
  return entered.id !== nowhere && site?.id === entered.id && isSameHost(entered, here);
}

/** A container is called differently after each start and is on the same kernel; a machine has the same name after a boot. */
function isSameHost(one: Host, other: Host): boolean {
  return one.host === other.host || (one.boot === other.boot && one.boot !== "unknown");
}

/** The result of a call that was entered elsewhere: it names the place, since nobody can look from here. */
export function elsewhereOutput({ host, where }: Pick<EnteredSite, "host" | "where">): ToolOutput {
  return codedOutput(
    "TOOL_OUTCOME_UNKNOWN",
    `This call was started on the host ${host}, and its result is not known here: it may have taken effect there in whole, in part or ` +
      `not at all, and it may still be running there. What is left of it is on ${host}, at ${where}. Do not simply repeat it. First look ` +
      "at what it would have changed, then decide.",
  );
}
