/**
 * What the records of an exported session must be to one another, so that the session can be read where it is taken in.
 *
 * Owns: order, gaps, epochs, checksums, and the laws that a driver stands on. Does not own: the form of a line
 * (transfer-line). Throws INVALID_INPUT, without the line's number.
 */
import { isPawlError, PawlError } from "../error.ts";
import { decode } from "../log/codec.ts";
import { checksum, type LogEntry, type LogRecord } from "../log/envelope.ts";
import type { SessionCreated } from "../log/event.ts";
import { logLaws } from "../log/laws.ts";
import { seen } from "../log/shape.ts";
import type { Law } from "../log/verify.ts";
import { admitRestored } from "./admission.ts";
import type { Absent, Header } from "./transfer-line.ts";

/** No driver writes a log that breaks these, and who goes on from one may end with BUG. The others `verify` tells. */
const needed: readonly Law["law"][] = ["L7", "L9"];

export class LogCheck {
  /** The newest creation among the records. */
  created: SessionCreated | undefined;
  /** The last record. */
  last: LogRecord | undefined;
  /** The posts that the session has consumed: not those of its parents, nor of the session that it is a copy of. */
  readonly posts: string[] = [];

  readonly #absent: readonly Absent[];
  /** The session whose posts they are. */
  readonly #keeps: string | undefined;
  readonly #own: string | undefined;
  readonly #laws = logLaws.filter(({ law }) => needed.includes(law)).map((law) => ({ law, check: law.start() }));
  /** Behind a hole, or behind what a newer version wrote, nobody can tell what is out of order. */
  #judged = true;
  /** The last record that this version reads: what salvage measures an epoch by. */
  #read: LogRecord | undefined;

  /** `own`: the id that the session gets, where it is another than it had. */
  constructor({ absent, session }: Pick<Header, "absent" | "session">, own: string | undefined) {
    this.#absent = absent;
    this.#keeps = own === undefined ? session : undefined;
    this.#own = own;
  }

  get seq(): number {
    return this.last?.seq ?? 0;
  }

  take(record: LogRecord): void {
    const { seq, session } = record;
    if (session === this.#own)
      throw wrong(`is a record of session ${session}; choose an id that is not among its ancestors`);
    // What a store would refuse as well; here the line is known.
    admitRestored(session, 0, [record]);
    if (checksum(record, record.payload) !== record.checksum)
      throw wrong(`record ${seq} does not match its checksum: the file was changed or damaged`);
    const read = readable(record);
    this.#follow(record);
    this.last = record;
    if (read === "newer") this.#judged = false;
    else this.#read = record;
    if (typeof read !== "object") return;
    if (read.event.type === "session.created") this.created = read.event;
    if (read.event.type === "input.accepted" && session === this.#keeps) this.posts.push(read.event.input);
    this.#judge(read);
  }

  #follow({ seq, session, epoch }: LogRecord): void {
    const before = this.seq;
    if (seq !== before + 1) {
      const gap = seq > before && this.#absent.some(({ from, to }) => from === before && to === seq);
      if (!gap) throw wrong(`record ${before + 1} is missing, found ${seen(seq)}`);
      this.#judged = false;
    }
    const known = this.#read;
    if (known?.session === session && epoch < known.epoch)
      throw wrong(`record ${seq}: its epoch falls from ${known.epoch} to ${epoch}, nobody could read the session`);
  }

  #judge(entry: LogEntry): void {
    if (!this.#judged) return;
    for (const { law, check } of this.#laws) {
      const [broken] = check(entry);
      if (broken !== undefined) throw wrong(`record ${entry.seq} breaks ${law.law} (${law.title}): ${broken}`);
    }
  }

  /** Whether the records end where the header says: at its last seq, or before a tail that it calls absent. */
  endsAt(head: number): boolean {
    return (
      this.seq === head ||
      (this.seq < head && this.#absent.some(({ from, to }) => from === this.seq && to === head + 1))
    );
  }
}

/**
 * Undefined: passed over. What was left of an erased payload is sealed by itself; what a newer version wrote is none of
 * our business.
 */
function readable(record: LogRecord): LogEntry | "newer" | undefined {
  try {
    return decode(record);
  } catch (error) {
    if (isPawlError(error, "SESSION_READ_ONLY")) return "newer";
    if (isPawlError(error, "CORRUPT")) throw wrong(error.message);
    throw error;
  }
}

function wrong(what: string): PawlError {
  return new PawlError("INVALID_INPUT", what);
}
