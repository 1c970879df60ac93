/** What of a folder has changed since its last snapshot, sorted out: what goes in, what goes, what is left out. Pure. */

/** A larger file is named and left out: every version of it would stay on the disk as long as its session. */
export const fileBytes = 64 * 1024 * 1024;
/** Names of what is written beside a file before it takes its place. */
const temporary = /(^|\/)\.pawl-[\w-]+\.tmp$/;

/** So much that is new in one snapshot is data that nobody has thought of, and would fill the disk of whoever keeps it. */
export const newBytes = 2 * 1024 * 1024 * 1024;

export type LeftOutWhy = "large" | "unreadable" | "name";

export interface LeftOut {
  path: string;
  why: LeftOutWhy;
}

/** What is there under a name. `nothing` also behind a link: there it is something else's name. */
export interface Found {
  kind: "file" | "link" | "other" | "nothing";
  size: number;
  /** Permission bits. */
  mode: number;
  readable: boolean;
}

export interface Listing {
  /** New or changed. */
  changed: string[];
  /** In the last snapshot and no longer there. */
  gone: string[];
  /** Repositories of their own inside of the folder, with a `/` at the end. */
  nested: string[];
}

/** Of `diff-files --name-status -z` and `ls-files -o -z`. */
export function parseListing(known: readonly string[], unknown: readonly string[]): Listing {
  const listing: Listing = { changed: [], gone: [], nested: [] };
  for (let at = 0; at + 1 < known.length; at += 2)
    (known[at] === "D" ? listing.gone : listing.changed).push(known[at + 1] ?? "");
  for (const path of unknown) (path.endsWith("/") ? listing.nested : listing.changed).push(path);
  return listing;
}

export interface Sorted {
  add: string[];
  remove: string[];
  leftOut: LeftOut[];
  /** Exact permission bits of what goes in. */
  modes: Map<string, number>;
  /** Of all that goes in. */
  bytes: number;
}

export function sortOut({ changed, gone }: Listing, found: ReadonlyMap<string, Found>): Sorted {
  const sorted: Sorted = { add: [], remove: [...gone], leftOut: [], modes: new Map(), bytes: 0 };
  for (const path of changed) {
    const { kind, size, mode, readable } = found.get(path) ?? nothing;
    const why = isUnnameable(path, kind) ? "name" : kind === "file" ? problemOf(size, readable) : undefined;
    if (why !== undefined) sorted.leftOut.push({ path, why });
    if (why !== undefined || kind === "other" || kind === "nothing" || temporary.test(path)) {
      // Also where an older version of it is known: what is kept must not pass for what is there.
      sorted.remove.push(path);
      continue;
    }
    sorted.add.push(path);
    sorted.bytes += size;
    if (kind === "file") sorted.modes.set(path, mode);
  }
  return sorted;
}

const nothing: Found = { kind: "nothing", size: 0, mode: 0, readable: false };

function problemOf(size: number, readable: boolean): LeftOutWhy | undefined {
  if (!readable) return "unreadable";
  return size > fileBytes ? "large" : undefined;
}

/** Names that git refuses to keep, since they mean something to it. */
function isUnnameable(path: string, kind: Found["kind"]): boolean {
  const names = path.toLowerCase().split("/");
  return names.includes(".git") || (kind === "link" && names.at(-1) === ".gitmodules");
}

/** Permission bits. Git itself keeps only whether the owner may execute. */
export interface Modes {
  /** What files and programs have here unless it is said otherwise. */
  plain: [file: number, program: number];
  odd: ReadonlyMap<string, number>;
}

export function rememberModes({ plain, odd }: Modes, { remove, modes }: Sorted): Modes {
  const next = new Map(odd);
  for (const path of remove) next.delete(path);
  for (const [path, mode] of modes) {
    if (mode === plain[mode & 0o100 ? 1 : 0]) next.delete(path);
    else next.set(path, mode);
  }
  return { plain, odd: next };
}

/** The bits to give a file that is written back. */
export function modeOf({ plain, odd }: Modes, path: string, isProgram: boolean): number {
  const mode = odd.get(path);
  return mode !== undefined && ((mode & 0o100) !== 0) === isProgram ? mode : plain[isProgram ? 1 : 0];
}
