/**
 * A session as a program holds it: post, run, resume, read, follow.
 *
 * Owns: opening, and who drives. Reading and following write nothing and need no lease; running takes it. Invariants:
 * 1. A new input first settles a turn that a dead driver left open (DESIGN: opening, *settle*).
 * 2. Nothing runs by itself: an interrupted turn goes on only when `resume` says so.
 */
import type { Effects } from "../effects.ts";
import { PawlError } from "../error.ts";
import { encode } from "../log/codec.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { ApprovalResolved, Json, Part, SessionCreated } from "../log/event.ts";
import { isId, isWorkspace, seen, taskPrefix, workspaceWords } from "../log/shape.ts";
import { follow } from "../store/follow.ts";
import { decodePage, pages } from "../store/pages.ts";
import type { ForkPoint, Holder, SessionSummary, Store } from "../store/store.ts";
import type { StandingAnswer } from "../tool/standing.ts";
import { Feed } from "../view/feed.ts";
import type { LiveItem, PendingApproval } from "../view/live.ts";
import { type Agent, prepareAgent } from "./agent.ts";
import { type AnswerBody, answerShape, type RevocationBody, revocationShape } from "./answer.ts";
import { defaultCompaction } from "./compaction.ts";
import { type Dropped, dropContext } from "./drop.ts";
import { Nudge } from "./nudge.ts";
import { type DriveMode, startDrive } from "./open.ts";
import { pendingApprovals, standingAnswers } from "./question.ts";
import { contentOf, inputId, type QueuedInput, queueOf } from "./queue.ts";
import type { TurnResult } from "./report.ts";
import { type WatchOptions, watch } from "./watch.ts";

/** What sessions live in: a store, the outside world, and who we are. */
export interface Runtime {
  store: Store;
  effects: Effects;
  holder: Holder;
}

export type SessionFacts = Omit<SessionCreated, "type" | "parent">;

/**
 * Creates a session. `id` defaults to a new one. With a `workspace` only workers that have it drive it. Fails with SESSION_EXISTS, or
 * INVALID_INPUT for an id or a workspace that is none.
 */
export async function createSession(runtime: Runtime, id?: string, facts: SessionFacts = {}): Promise<Session> {
  refuseTaskId(id);
  return write(runtime, id, facts, undefined);
}

/** Of a task tool: no worker claims it. */
export function createTask(runtime: Runtime, id: string, facts: SessionFacts): Promise<Session> {
  return write(runtime, id, facts, undefined);
}

/** No worker would ever drive it, and nobody would know why. */
function refuseTaskId(id: string | undefined): void {
  if (id?.startsWith(taskPrefix))
    throw new PawlError(
      "INVALID_INPUT",
      `session ids that begin with ${taskPrefix} are those of tasks, is ${seen(id)}`,
    );
}

/**
 * Creates a session that begins with everything of another up to `from.seq`. The parent is never written. What is open
 * at the cut is closed when the child is first driven. It needs the workspace of its parent, unless `facts` name another.
 */
export async function forkSession(
  runtime: Runtime,
  from: ForkPoint,
  id?: string,
  facts: SessionFacts = {},
): Promise<Session> {
  refuseTaskId(id);
  const workspace = facts.workspace ?? (await runtime.store.get(from.session))?.head.workspace;
  return write(runtime, id, workspace === undefined ? facts : { ...facts, workspace }, from);
}

/** Opens a session that exists, by id or by name. Fails with SESSION_NOT_FOUND. Writes nothing. */
export async function openSession(runtime: Runtime, idOrName: string): Promise<Session> {
  const { store } = runtime;
  if (isId(idOrName) && (await store.get(idOrName))) return new Session(runtime, idOrName);
  const named = await store.resolveName(idOrName);
  if (named === undefined) {
    throw new PawlError("SESSION_NOT_FOUND", `there is no session ${seen(idOrName)}; \`pawl sessions\` lists them`);
  }
  return new Session(runtime, named);
}

async function write(
  runtime: Runtime,
  id: string | undefined,
  facts: SessionFacts,
  parent: ForkPoint | undefined,
): Promise<Session> {
  const { store, effects } = runtime;
  const session = id ?? effects.id("s");
  checkId(session);
  const { title, cwd, workspace } = facts;
  if (workspace !== undefined && !isWorkspace(workspace))
    throw new PawlError("INVALID_INPUT", workspaceWords(workspace));
  const records = encode([{ type: "session.created", ...facts, ...(parent ? { parent } : {}) }], {
    session,
    epoch: 0,
    expectedSeq: parent?.seq ?? 0,
    time: effects.clock.now(),
  });
  const head = {
    ...(title === undefined ? {} : { title }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(workspace === undefined ? {} : { workspace }),
  };
  await store.create({ session, records, head, ...(parent ? { parent } : {}) });
  return new Session(runtime, session);
}

function checkId(id: string): void {
  if (!isId(id)) {
    throw new PawlError("INVALID_INPUT", `${seen(id)} cannot be a session id; use 1 to 64 characters A-Z a-z 0-9 _ -`);
  }
}

export interface AnswerOptions {
  /** Who answers, for the record. */
  by?: string;
  /** How far the answer reaches: this call (default), later ones of this session, or of its forks, too. */
  scope?: ApprovalResolved["scope"];
  /** With a wider scope: the inputs of this tool it is for, by field and pattern. Default: only the very same input. */
  input?: { [field: string]: string };
  reason?: string;
  /** The digest of the call that was shown: an answer to a call that has changed since is void. */
  digest?: string;
  /** Makes the post idempotent. */
  id?: string;
}

export class Session {
  readonly id: string;
  readonly #runtime: Runtime;

  constructor(runtime: Runtime, id: string) {
    this.#runtime = runtime;
    this.id = id;
  }

  summary(): Promise<SessionSummary | undefined> {
    return this.#runtime.store.get(this.id);
  }

  /** Hands over an input or a steer, durably, from any process and without the lease. `id` makes it idempotent. */
  async post(
    kind: "input" | "steer",
    input: string | readonly Part[],
    id = this.#runtime.effects.id("in"),
  ): Promise<string> {
    await this.#runtime.store.post(this.id, { id, kind, body: { content: contentOf(input) as unknown as Json } });
    return id;
  }

  /** The inputs and steers that no turn has claimed, in order, with their edits. */
  async queue(): Promise<QueuedInput[]> {
    const { waiting } = queueOf(await this.#runtime.store.mailbox(this.id));
    return waiting.map(({ id, kind, content }) => ({ id, kind, content }));
  }

  /** Replaces an input or a steer as long as no turn has claimed it; what comes later is a note in the log. */
  async edit(input: string, content: string | readonly Part[], id = this.#runtime.effects.id("ed")): Promise<void> {
    const body = { input: inputId(input), content: contentOf(content) as unknown as Json };
    await this.#runtime.store.post(this.id, { id, kind: "edit", body });
  }

  /** Takes back an input or a steer as long as no turn has claimed it. */
  async withdraw(input: string, id = this.#runtime.effects.id("wd")): Promise<void> {
    await this.#runtime.store.post(this.id, { id, kind: "withdrawal", body: { input: inputId(input) } });
  }

  /** Ends the turn `turn` if it is open when the driver hears of it, and nothing else. */
  async abort(turn: string): Promise<void> {
    await this.#runtime.store.post(this.id, { id: this.#runtime.effects.id("ab"), kind: "abort", body: { turn } });
  }

  /** The questions that wait for a person, whoever drives, or nobody. */
  pendingApprovals(): Promise<PendingApproval[]> {
    return pendingApprovals(this.#runtime.store, this.id);
  }

  /** The answers of scope `session` and `forks` that stand here: each can be revoked by its approval. */
  async standingAnswers(): Promise<StandingAnswer[]> {
    return standingAnswers(await this.entries(), this.id);
  }

  /**
   * Answers a question, durably, from any process and without the lease: the driver, or the next one, acts on it. The first
   * answer counts; any other becomes a note in the log. Resolves with the post's id.
   */
  async answer(approval: string, answer: ApprovalResolved["answer"], options: AnswerOptions = {}): Promise<string> {
    const { id = this.#runtime.effects.id("an"), by = "unknown", scope = "call", ...rest } = options;
    const body: AnswerBody = { approval, answer, by, scope, ...rest };
    return this.#answer(id, body, answerShape.check(body, "answer"));
  }

  /** Takes back an answer of scope `session` or `forks`, for calls that are judged after the driver hears of it. */
  async revoke(approval: string, options: Pick<AnswerOptions, "id" | "by" | "reason"> = {}): Promise<string> {
    const { id = this.#runtime.effects.id("an"), by = "unknown", ...rest } = options;
    const body: RevocationBody = { revoke: approval, by, ...rest };
    return this.#answer(id, body, revocationShape.check(body, "revocation"));
  }

  /**
   * Posts an input and drives until the session is idle. Iterate the turn to watch it. `id` makes the post idempotent: one
   * that still waits is driven, one that a turn has claimed, or another kind of post has, fails with INVALID_INPUT.
   */
  run(agent: Agent, input: string | readonly Part[], options: { signal?: AbortSignal; id?: string } = {}): Turn {
    const { signal, id } = options;
    const content = contentOf(input);
    return this.#drive(
      agent,
      { kind: "settle", input: content, ...(id === undefined ? {} : { id: inputId(id) }) },
      signal,
    );
  }

  /** Takes over an interrupted turn and goes on inside it. Fails with INVALID_INPUT where none is open. */
  resume(agent: Agent, options: { signal?: AbortSignal } = {}): Turn {
    return this.#drive(agent, { kind: "take-over" }, options.signal);
  }

  /**
   * Closes the turn that a dead driver left open as `interrupted`, and runs nothing: every call gets its result, by its tool's
   * `reconcile` where it has one. Fails with INVALID_INPUT where none is open.
   */
  settle(agent: Agent, options: { signal?: AbortSignal } = {}): Turn {
    return this.#drive(agent, { kind: "close" }, options.signal);
  }

  /**
   * Follows the last turn, which failed or was stopped, with a new one that has no input. An open turn of a dead driver is
   * closed first. Fails with INVALID_INPUT where the last turn completed.
   */
  continue(agent: Agent, options: { signal?: AbortSignal } = {}): Turn {
    return this.#drive(agent, { kind: "continue" }, options.signal);
  }

  /**
   * Leaves the older part of the conversation out of what the model sees, by a fixed text and without a request; the log
   * keeps it. `keep`: the share that stays, default 0.3. Resolves with undefined where nothing can go.
   */
  dropContext(options: { keep?: number } = {}): Promise<Dropped | undefined> {
    return dropContext(this.#runtime, this.id, options.keep ?? defaultCompaction.keep);
  }

  /** Everything recorded so far. */
  async entries(): Promise<LogEntry[]> {
    const all: LogEntry[] = [];
    for await (const page of pages(this.#runtime.store, this.id)) all.push(...page.entries);
    return all;
  }

  /**
   * Facts from `after` on, first what is there, then live, whoever drives. Ends with the signal. Whoever begins in the
   * middle learns from {@link pendingApprovals} what is being asked.
   */
  async *follow(options: { after?: number; signal: AbortSignal }): AsyncIterable<LogEntry> {
    let after = options.after ?? 0;
    for await (const records of follow(this.#runtime.store, this.id, { after, signal: options.signal })) {
      yield* await decodePage(this.#runtime.store, this.id, records, after);
      after = records.at(-1)?.seq ?? after;
    }
  }

  /**
   * What the driver's own subscribers see, whoever drives and wherever: facts from `after` on, what is said meanwhile,
   * questions that wait. Words come as the driver writes them down, about four times a second; what a message
   * has more comes right before its end. Of an attempt that is open at `after` they come from their beginning. Ends with
   * the signal. A tool's progress, `paused` and `warning` are told by the driver's own process alone.
   */
  watch(options: WatchOptions): AsyncIterable<LiveItem> {
    return watch(this.#runtime, this.id, options);
  }

  async #answer(id: string, body: AnswerBody | RevocationBody, problem: string | undefined): Promise<string> {
    if (problem) throw new PawlError("INVALID_INPUT", problem);
    await this.#runtime.store.post(this.id, { id, kind: "answer", body: { ...body } });
    return id;
  }

  #drive(agent: Agent, mode: DriveMode, signal: AbortSignal = new AbortController().signal): Turn {
    const feed = new Feed();
    const nudge = new Nudge();
    const result = prepareAgent(agent).then((prepared) =>
      startDrive(this.#runtime, this.id, prepared, mode, { feed, signal, nudge }),
    );
    return new Turn(
      feed,
      nudge,
      result.finally(() => feed.end()),
    );
  }
}

/** One turn under way. Iterating it gives what is recorded and what is said, live; awaiting `result` gives its end. */
export class Turn implements AsyncIterable<LiveItem> {
  /** Rejects only where no end could be recorded: the lease, the store. A failed turn is a result. */
  readonly result: Promise<TurnResult>;
  readonly #feed: Feed;
  readonly #nudge: Nudge;

  constructor(feed: Feed, nudge: Nudge, result: Promise<TurnResult>) {
    this.#feed = feed;
    this.#nudge = nudge;
    this.result = result;
    // Whoever only iterates must not die of an unhandled rejection; whoever awaits `result` still hears of it.
    result.catch(() => {});
  }

  /** Ends the wait before the next attempt now. Where nothing waits it does nothing. */
  retryNow(): void {
    this.#nudge.now();
  }

  [Symbol.asyncIterator](): AsyncIterator<LiveItem> {
    return this.#feed.subscribe();
  }
}
