/** `pawl name`: a name for a session, good wherever an id is. It can move from one to another: a rewind does that. */
import { isId, PawlError, type Runtime } from "@pawl/core";
import { addressOf } from "./address.ts";
import { seenText } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export type NameOptions = VisitOptions & { remove?: boolean; move?: boolean };

export function nameSession(address: string, name: string | undefined, options: NameOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    if (options.remove) return removeName(runtime, name ?? address, options);
    if (name === undefined) return sayName(runtime, address, options);
    return giveName(runtime, await addressOf(runtime, address), name, options);
  });
}

async function giveName({ store }: Runtime, session: string, name: string, options: NameOptions): Promise<number> {
  if (!isId(name)) {
    const what = `${seenText(name)} cannot be a name; use 1 to 64 characters A-Z a-z 0-9 _ -`;
    throw new PawlError("INVALID_INPUT", what);
  }
  if (await store.get(name))
    throw new PawlError("INVALID_INPUT", `"${name}" is the id of a session, which comes before a name; choose another`);
  const holder = await store.resolveName(name);
  if (holder !== undefined && holder !== session && !options.move) {
    const what = `"${name}" is taken: it is the name of session ${holder}`;
    throw new PawlError("INVALID_INPUT", `${what}; choose another, or take it over with --move`);
  }
  if (!(await store.setName(name, session, holder ?? null)))
    throw new PawlError("CONFLICT", `"${name}" was given to another session meanwhile; look with pawl name ${name}`);
  const from = holder !== undefined && holder !== session ? { from: holder } : {};
  const moved = from.from === undefined ? "" : `, no longer ${from.from}`;
  return told(options, { session, name, ...from }, `${name} is session ${session}${moved}`);
}

async function removeName({ store }: Runtime, name: string, options: NameOptions): Promise<number> {
  const session = await store.resolveName(name);
  if (session === undefined) throw noName(name);
  if (!(await store.setName(name, null, session)))
    throw new PawlError("CONFLICT", `"${name}" was given to another session meanwhile; look with pawl name ${name}`);
  return told(
    options,
    { session, name: null, removed: name },
    `${name} is no name any more; its session is ${session}`,
  );
}

async function sayName({ store }: Runtime, name: string, options: NameOptions): Promise<number> {
  const session = await store.resolveName(name);
  if (session === undefined) throw noName(name);
  return told(options, { session, name }, `${name} is session ${session}`);
}

function noName(name: string): PawlError {
  return new PawlError("SESSION_NOT_FOUND", `no session is called ${seenText(name)}; pawl name ID NAME gives a name`);
}

function told(options: NameOptions, facts: Record<string, unknown>, words: string): number {
  process.stdout.write(options.json ? `${JSON.stringify({ ok: true, ...facts })}\n` : `${words}\n`);
  return 0;
}
