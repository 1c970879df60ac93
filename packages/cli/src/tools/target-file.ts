/** The file that a call is about to change: a regular one that is not marked read-only, or nothing yet. */
import { constants } from "node:fs";
import { access, readFile, stat } from "node:fs/promises";
import { PawlError } from "@pawl/core";
import { fileFailure } from "./replacement.ts";
import { byteSize } from "./text.ts";
import { errorCode, type Place } from "./workspace.ts";

/** Held in memory twice and compared: larger files are data, for a program to change. */
const fileBytes = 32_000_000;

/** Its content; undefined where there is none yet. Refuses what must not be replaced. */
export async function targetContent(place: Place): Promise<Buffer | undefined> {
  try {
    await assertWritable(place);
    return await readFile(place.real);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return undefined;
    throw code === "unknown error" ? error : fileFailure("changing", place.shown, error);
  }
}

/** Other processes do not know our locks: a last look before the rename leaves them next to no gap. */
export async function assertUnchanged(place: Place, old: Buffer | undefined): Promise<void> {
  const now = await targetContent(place);
  if (old === undefined ? now === undefined : now?.equals(old)) return;
  throw new PawlError(
    "INVALID_INPUT",
    `${place.shown} was changed by another program during this call: nothing was written, read it again`,
  );
}

async function assertWritable(place: Place): Promise<void> {
  const stats = await stat(place.real);
  if (stats.isDirectory()) throw new Error(`${place.shown} is a folder: name a file in it`);
  if (!stats.isFile())
    throw new Error(`${place.shown} is a pipe, socket or device, not a file: only files are changed`);
  if (stats.size > fileBytes) {
    throw new Error(
      `${place.shown} has ${byteSize(stats.size)}, more than the ${byteSize(fileBytes)} that are changed here: use bash`,
    );
  }
  // A rename would pass over the file's own mode; who took the write bit away meant it. Root may do all, so the bits count too.
  const allowed =
    (stats.mode & 0o222) !== 0 &&
    (await access(place.real, constants.W_OK).then(
      () => true,
      () => false,
    ));
  if (!allowed)
    throw new Error(
      `${place.shown} is read-only (mode ${(stats.mode & 0o777).toString(8)}): change its mode first if that is right`,
    );
}
