/** What every command says alike that looks into a store. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { userFile } from "./config/place.ts";
import { configureStore } from "./configured-store.ts";

export function withStore(command: Command): Command {
  return storeOption(command, "where sessions are kept: a folder, or postgres://USER@HOST/DATABASE").option(
    "--json",
    "for programs",
  );
}

export function storeOption(command: Command, words: string): Command {
  return command.option("--store <DIR|URL>", words).hook("preAction", (_, action) => hearConfiguration(action));
}

/** The user's own file may name the store; a project's may not: whoever clones it would hand over what they say. */
async function hearConfiguration(command: Command): Promise<void> {
  if (command.getOptionValue("store") !== undefined || process.env["PAWL_STORE"] || !mentionsStore()) return;
  const { storeOfUser } = await import("./config/user-store.ts");
  configureStore(storeOfUser());
}

/** Most files do not, and to read one as what it is takes longer than many a command. */
function mentionsStore(): boolean {
  try {
    return readFileSync(userFile(), "utf8").includes('"store"');
  } catch {
    return false;
  }
}

/** How a session is named. */
export const anyWay = "its id, its name, or at least 6 characters that its id begins with";
