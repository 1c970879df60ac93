/** What every command says alike that looks into a store. */
import type { Command } from "commander";

export function withStore(command: Command): Command {
  return command.option("--store <DIR>", "where sessions are kept").option("--json", "for programs");
}

/** How a session is named. */
export const anyWay = "its id, its name, or at least 6 characters that its id begins with";
