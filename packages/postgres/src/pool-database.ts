/**
 * A database through a pool of `pg`, or one that looks like it: the program's, or our own (url-database).
 *
 * Owns: lending connections, and throwing away what may be broken. Invariants:
 * 1. A connection on which anything but an ordinary refusal has happened is not used again.
 * 2. What ends a connection ends no process: somebody listens for its error from its first moment on.
 * 3. Of a pool that is ours a connection is not given back after each statement but kept at hand: the next one leaves before its
 *    caller's next step.
 * 4. Whoever waits for a connection waits in line, and is not told that the server is away; where it is, all of the line hear
 *    of it at once: one after another they would wait for the same as long as the line is.
 */
import { type Asked, type Asking, answered, askOf, greetedBy, hangUp, leavesWhole, type PoolClient } from "./client.ts";
import { type Ask, type Database, type Query, queryOf, type Reserved, type ReservedEvents } from "./database.ts";
import { poolerBetween, prospectOf } from "./fault.ts";

/** What is used of a `pg` pool. */
export interface Pool {
  connect(): Promise<PoolClient>;
  options?: { max?: number };
  on?(event: "connect", listener: (client: PoolClient) => void): unknown;
  off?(event: "connect", listener: (client: PoolClient) => void): unknown;
}

export interface PoolOptions extends Asking {
  mode: "own" | "pooled";
  /** How many connections the pool has at most, where we are all that uses it. */
  places?: number;
}

/** What `pg` has without a word. */
const usualSize = 10;
/** Two that are reserved, and as many to work with. */
const leastSize = 4;

/** Whoever waits for a lock gets an answer before its connection counts as dead: else the server's side would wait on. */
const lockShare = 0.6;

export function lockMsOf(answerMs: number): number {
  return Math.ceil(answerMs * lockShare);
}

/** The pool stays its owner's: closing the store does not end it. */
export function poolDatabase(pool: Pool, options: PoolOptions): Database {
  const places = new Places(options.places ?? Number.POSITIVE_INFINITY);
  const hand = new Hand(options.places !== undefined);
  // A pool stops listening when it lends: what came in one piece with the greeting would be an error that nobody handles.
  const greet = (client: PoolClient) => void client.on("error", unheard);
  pool.on?.("connect", greet);
  const lend = async <T>(work: (ask: Ask) => Promise<T>, pace?: "slow") => {
    const turn = places.take();
    if (turn) await turn;
    try {
      return await borrowed({ pool, hand, options, work, pace });
    } catch (error) {
      if (isUnreachable(error)) places.giveUp(error);
      throw error;
    } finally {
      places.leave();
    }
  };
  return {
    ask: (text, values) => lend((ask) => ask(text, values)),
    transaction: (work, pace) => lend((ask) => transaction(queryOf(ask), work), pace),
    ...(options.mode === "own" ? { reserve: (events: ReservedEvents) => reserveFrom(pool, options, events) } : {}),
    lockMs: lockMsOf(options.answerMs),
    spare: options.mode === "own" && (pool.options?.max ?? usualSize) >= leastSize,
    close: async () => {
      hand.open();
      pool.off?.("connect", greet);
    },
  };
}

/** Connections that rest with us. */
class Hand {
  #keeps: boolean;
  #resting: { client: PoolClient; leave(): void }[] = [];

  constructor(keeps: boolean) {
    this.#keeps = keeps;
  }

  take(): PoolClient | undefined {
    const last = this.#resting.pop();
    last?.leave();
    return last?.client;
  }

  /** Kept, or given back to its pool. */
  put(client: PoolClient): void {
    if (!this.#keeps) return client.release();
    const onError = () => {
      this.#resting = this.#resting.filter((other) => other.client !== client);
      // Its end may be said more than once, and it is given back once.
      leave();
      client.release(true);
    };
    const leave = () => void client.off("error", onError);
    client.on("error", onError);
    this.#resting.push({ client, leave });
  }

  /** One has turned out to be dead without a word, and those that rest have most likely gone the same way. */
  hangUp(): void {
    for (const client of this.#empty()) throwAway(client);
  }

  /** All go back to their pool, and so do those that come later. */
  open(): void {
    this.#keeps = false;
    for (const client of this.#empty()) client.release();
  }

  #empty(): PoolClient[] {
    return this.#resting.splice(0).map(({ client, leave }) => {
      leave();
      return client;
    });
  }
}

/** In line, and not in the pool's: there waiting counts as connecting, which has a deadline. */
class Places {
  #free: number;
  #line: PromiseWithResolvers<void>[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Undefined: there is one at once. Whoever has taken one leaves it. */
  take(): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free -= 1;
      return undefined;
    }
    const waiting = Promise.withResolvers<void>();
    this.#line.push(waiting);
    return waiting.promise;
  }

  leave(): void {
    const next = this.#line.shift();
    if (next) next.resolve();
    else this.#free += 1;
  }

  /** Nobody in line would fare better than whoever has just failed. */
  giveUp(error: unknown): void {
    const line = this.#line;
    this.#line = [];
    for (const waiting of line) waiting.reject(error);
  }
}

/** The server has said nothing, and no more will it to others. */
function isUnreachable(error: unknown): boolean {
  return !(error instanceof Object && "severity" in error) && prospectOf(error) !== "final";
}

const unheard = () => {};

interface Loan<T> {
  pool: Pool;
  hand: Hand;
  options: PoolOptions;
  work(ask: Ask): Promise<T>;
  pace: "slow" | undefined;
}

async function borrowed<T>({ pool, hand, options, work, pace }: Loan<T>): Promise<T> {
  const client = hand.take() ?? (await connected(pool, options));
  const asked = askOf(client, pace === "slow" ? { ...options, answerMs: longest } : options);
  let isWhole = true;
  // One that breaks between two statements, or behind the last one's answer, tells nobody else.
  const onError = () => {
    isWhole = false;
  };
  client.on("error", onError);
  const ask: Ask = async (text, values) => {
    try {
      return await asked(text, values);
    } catch (error) {
      isWhole &&= leavesWhole(error);
      if ((error as { code?: unknown }).code === "ETIMEDOUT") {
        // What is still to be asked, as a rollback, does not wait for as long again.
        hangUp(client);
        hand.hangUp();
      }
      throw error;
    }
  };
  try {
    return await work(ask);
  } finally {
    if (isWhole) {
      client.off("error", onError);
      hand.put(client);
    } else throwAway(client);
  }
}

function throwAway(client: PoolClient): void {
  client.release(true);
  hangUp(client);
}

/** A day: longer than any migration, and within what a timer takes. */
const longest = 86_400_000;

async function transaction<T>(query: Query, work: (query: Query) => Promise<T>): Promise<T> {
  await query("BEGIN");
  try {
    const done = await work(query);
    await query("COMMIT");
    return done;
  } catch (error) {
    // On a connection that is broken this fails at once.
    await query("ROLLBACK").catch(unheard);
    throw error;
  }
}

/** The program's pool may wait for ever. A client that comes too late goes back. */
async function connected(pool: Pool, { timers, answerMs }: PoolOptions): Promise<PoolClient> {
  let late = false;
  const coming = pool.connect().then((client) => {
    if (late) client.release();
    return client;
  });
  try {
    return await answered(coming, timers, answerMs);
  } catch (error) {
    late = true;
    throw error;
  }
}

async function reserveFrom(pool: Pool, options: PoolOptions, events: ReservedEvents): Promise<Reserved> {
  const client = await connected(pool, options);
  // It listens and holds a lock: nobody else should get it.
  return reserved(client, () => client.release(true), options, events);
}

/** `client` is ours until `end`. */
export async function reserved(
  client: Asked & Pick<PoolClient, "on">,
  end: () => void,
  options: Asking,
  { onNotice, onLost }: ReservedEvents,
): Promise<Reserved> {
  let ended = false;
  const leave = () => {
    if (ended) return false;
    ended = true;
    end();
    hangUp(client);
    return true;
  };
  const lost = () => {
    if (leave()) onLost();
  };
  client.on("error", lost);
  client.on("end", lost);
  client.on("notification", ({ payload = "" }) => onNotice(payload));
  const query = queryOf(askOf(client, options));
  try {
    await refusePooler(client, query);
  } catch (error) {
    leave();
    throw error;
  }
  return { query, release: async () => void leave() };
}

/** Whoever greets a client with a process that is not the one that answers it, lends its connections by turns. */
async function refusePooler(client: object, query: Query): Promise<void> {
  const greeted = greetedBy(client);
  const [row] = await query("SELECT pg_backend_pid() AS pid");
  if (greeted === undefined || Number(row?.["pid"]) === greeted) return;
  throw poolerBetween(`process ${greeted} greeted us, ${row?.["pid"]} answers`);
}
