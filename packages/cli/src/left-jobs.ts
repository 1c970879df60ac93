/** Background jobs that a process which has died left running in a folder: whoever puts its files back should know of them. */
import { join } from "node:path";
import { line, printable } from "./style.ts";
import { CommandArchive } from "./tools/command-archive.ts";
import { Jobs } from "./tools/jobs.ts";
import { SecretMask } from "./tools/secret-mask.ts";

/** Of a command, so that the way to end it stands on the screen too. */
const commandChars = 60;

/** A line for each, with the way to end it. `store` is the store's folder. */
export async function leftJobWords(store: string, folder: string): Promise<string[]> {
  const jobs = new Jobs(new CommandArchive(join(store, "commands")), folder, new SecretMask([]));
  const running = (await jobs.list()).filter(({ state }) => state.type === "running");
  return Promise.all(
    running.map(async ({ id, command, folder: place }) => {
      const group = await place.readGroup();
      const end = group === undefined ? "" : `; to end it: kill -- -${group}`;
      return `${id} still runs here (${printable(line(command, commandChars))}): what it writes is not taken back${end}`;
    }),
  );
}
