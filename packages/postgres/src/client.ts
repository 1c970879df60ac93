/**
 * One connection of `pg`: asking it, and seeing that it is dead.
 *
 * Owns: the deadline of a statement. Does not own: whose connection it is (pool-database), what is tried again (link).
 * Invariants:
 * 1. A statement that has no answer, and whose connection has moved no byte, for `answerMs` rejects: a network that swallows
 *    everything tells nobody. What arrives slowly, or leaves slowly, is waited for.
 */
import { PawlError } from "@pawl/core";
import type { Timers } from "@pawl/core/store";
import type { Ask, Row, Value } from "./database.ts";

/** What is used of a `pg` client. */
export interface PoolClient {
  query(statement: {
    name?: string;
    text: string;
    values?: unknown[];
  }): Promise<{ rows: unknown[]; rowCount: number | null }>;
  /** With an error the connection is thrown away. */
  release(error?: Error | boolean): void;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
  off(event: "error", listener: () => void): unknown;
}

/** Of a `pg` client, where it has them. */
interface Inside {
  processID?: number | null;
  connection?: { stream?: Line };
}

interface Line {
  bytesRead?: number;
  /** Of Node, and not public: how much of what was written has not left yet. Where it is missing only the reading counts. */
  _handle?: { writeQueueSize?: number } | null;
  destroy?(): void;
}

export type Asked = Pick<PoolClient, "query">;

export interface Asking {
  timers: Timers;
  answerMs: number;
  /** Under which name a statement is prepared; undefined: not at all. */
  nameOf?(text: string): string;
}

/** As the network would say it, had it noticed. */
class NoAnswer extends Error {
  readonly code = "ETIMEDOUT";

  constructor(answerMs: number) {
    super(`no answer within ${answerMs} ms`);
  }
}

export function askOf(client: Asked, { timers, answerMs, nameOf }: Asking): Ask {
  return async (text, values = []) => {
    const named = nameOf && values.length > 0 ? { name: nameOf(text) } : {};
    const asked = client.query({ ...named, text, values: values.map(bytes) });
    const { rows, rowCount } = await answered(asked, timers, answerMs, () => movedOn(client));
    // Taken for none it would make an append that was done one that was refused.
    if (rowCount === undefined) throw countless();
    return { rows: rows as Row[], count: rowCount ?? 0 };
  };
}

function countless(): PawlError {
  const what = "the pool's client does not say how many rows a statement has found or changed (rowCount)";
  return new PawlError("INVALID_INPUT", `${what}: give a pool of \`pg\`, or one that answers like it`);
}

/** Looks each `answerMs` whether anything has moved. Whoever has given up on it does not hear how it ends. */
export function answered<T>(
  asked: Promise<T>,
  timers: Timers,
  answerMs: number,
  moved: () => number = () => 0,
): Promise<T> {
  // One promise and two functions: this stands around every statement.
  return new Promise((resolve, reject) => {
    let before = moved();
    let cancel = () => {};
    const look = () => {
      const now = moved();
      if (now === before) return reject(new NoAnswer(answerMs));
      before = now;
      wait();
    };
    const wait = () => {
      cancel = timers.after(answerMs, look);
    };
    wait();
    asked.then(
      (answer) => {
        cancel();
        resolve(answer);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

function movedOn(client: Asked): number {
  const line = (client as Inside).connection?.stream;
  return (line?.bytesRead ?? 0) - (line?._handle?.writeQueueSize ?? 0);
}

/** Of a line that is dead, goodbye is not said: nobody would hear it, and the process would wait for that. */
export function hangUp(client: object): void {
  (client as Inside).connection?.stream?.destroy?.();
}

/** The server's process that greeted this client; undefined where the client does not say. */
export function greetedBy(client: object): number | undefined {
  return (client as Inside).processID ?? undefined;
}

/** A pool may take other views for lists of numbers. */
function bytes(value: Value): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Of the connection that said this, the next statement is as good as any. One that only reads may lead to a standby. */
export function leavesWhole(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === "string" && severity === "ERROR" && code !== "25006";
}
