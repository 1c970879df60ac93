/**
 * Subagents: a tool whose body drives a session of its own.
 *
 * Owns: which child belongs to which call, and what the parent's model is told of its end. Does not own: how a child is
 * driven (it is a session like any other). Invariants:
 * 1. A call has one child, found again by the call's key: entered again after a crash, the body goes on inside it, so that
 *    nothing the child has done is done twice.
 * 2. The child's questions go to whoever answers the parent's; where nobody is there, each is refused at once (R73).
 * 3. The parent's stop is the child's, and a parent that is closed closes its child: none is left open behind a result.
 */
import { hash } from "node:crypto";
import { isPawlError, PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { Part } from "../log/event.ts";
import { taskPrefix } from "../log/shape.ts";
import { joinSignals } from "../signal.ts";
import { decodePage } from "../store/pages.ts";
import type { Store } from "../store/store.ts";
import type { Approver } from "../tool/approval.ts";
import { defineTool, everything, type Lock, type Tool } from "../tool/tool.ts";
import type { LiveItem } from "../view/live.ts";
import type { Agent } from "./agent.ts";
import { Report, type TurnResult } from "./report.ts";
import { createTask, openSession, type Runtime, type Session, type Turn } from "./session.ts";

export interface Subagent {
  /** What it is good for: the parent's model chooses by it. */
  description: string;
  agent: Agent;
  /** What its tools do to the workspace: those that only read run side by side. */
  workspace: "reads" | "writes";
}

export interface TaskOptions {
  runtime: Runtime;
  /** By the name that the parent's model calls them. */
  agents: { [name: string]: Subagent };
  /** Who answers the questions of children; default: each subagent's own approver. */
  approver?: Approver;
  /** Hears what happens in a child, live. A throw stops the child and fails the call. */
  watch?(item: LiveItem, child: { session: string; parent: string; call: string; agent: string }): void;
}

export interface TaskInput {
  agent: string;
  prompt: string;
  title?: string;
}

/** A body that is being stopped waits for its child, whose own bodies may take their time to listen, too. */
const childGraceMs = limit.toolGraceMs / 2;

/**
 * A tool that gives a task to a subagent and returns its last words. The child is a session of its own, with its own log,
 * steps and permissions; it outlives a crash, and its turn goes on where the parent's does. Throws INVALID_INPUT where there is
 * no subagent.
 */
export function taskTool(options: TaskOptions): Tool<TaskInput> {
  const names = Object.keys(options.agents);
  if (names.length === 0)
    throw new PawlError("INVALID_INPUT", "a task tool needs at least one subagent; give it one in `agents`");
  const list = names.map((name) => `- ${name}: ${options.agents[name]?.description}`).join("\n");
  return defineTool<TaskInput>({
    description:
      "Gives a task to another agent that works in a conversation of its own and does not see this one. It returns only its last " +
      `words, so say in the prompt everything it needs to know, and what it is to answer with. Agents:\n${list}`,
    inputSchema: {
      type: "object",
      additionalProperties: false,
      required: ["agent", "prompt"],
      properties: {
        agent: { type: "string", enum: names },
        prompt: { type: "string", minLength: 1, description: "The whole task." },
        title: { type: "string", description: "A few words for the person who watches." },
      },
    },
    // Entered again it finds its child, which knows what it has done.
    effect: "idempotent",
    locks: ({ agent }) => [lockOf(options.agents[agent])],
    // The child's own bounds hold; and it may wait for a person.
    timeoutMs: 0,
    async execute(input, { session: parent, callId: call, idempotencyKey, signal, progress }) {
      const { runtime, watch } = options;
      const agent = agentOf(options, input.agent);
      const place = placeOf(parent, idempotencyKey);
      try {
        const child = await childOf(runtime, place, parent, input);
        progress({ session: child.id });
        const { state, result } = await foundOf(child, place.input);
        if (result) return told(result);
        const fault = new AbortController();
        const stop = joinSignals(signal, fault.signal);
        const turn =
          state === "open"
            ? child.resume(agent, { signal: stop.signal })
            : child.run(agent, input.prompt, { signal: stop.signal, id: place.input });
        const hear = (item: LiveItem) => {
          watch?.(item, { session: child.id, parent, call, agent: input.agent });
          if (item.type === "entry" && item.entry.event.type === "tool.entered")
            progress({ session: child.id, output: item.entry.event.tool });
        };
        const ended = await heard(turn, hear, fault).finally(stop.release);
        if (signal.aborted) throw new Error(`The task is closed; its log is session ${child.id}.`);
        return told(ended);
      } catch (error) {
        const words = takenAway(error, place.session);
        if (signal.aborted || words === undefined) throw error;
        return said(words, true);
      }
    },
    async reconcile({ input, session: parent, idempotencyKey, signal }) {
      const place = placeOf(parent, idempotencyKey);
      // A body that has just been entered may still be about to create it.
      if (!(await options.runtime.store.get(place.session))) return { verdict: "unknown" };
      const child = await openSession(options.runtime, place.session);
      const { state, result } = await foundOf(child, place.input);
      if (result) return { verdict: "done", output: told(result) };
      // Nobody asks for it any longer. Whether a process that slept is about to claim it all the same cannot be told.
      if (state === "waits") await child.withdraw(place.input);
      if (state !== "open") return { verdict: "unknown" };
      return { verdict: "done", output: told(await child.settle(agentOf(options, input.agent), { signal }).result) };
    },
  });
}

/** Whoever listens and throws ends the call: its child, too, before that is said. */
async function heard(turn: Turn, hear: (item: LiveItem) => void, fault: AbortController): Promise<TurnResult> {
  try {
    for await (const item of turn) hear(item);
  } catch (error) {
    fault.abort(error);
    await turn.result.catch(() => {});
    throw error;
  }
  return turn.result;
}

function lockOf(subagent: Subagent | undefined): Lock {
  return subagent?.workspace === "reads" ? { key: everything.key, mode: "read" } : everything;
}

function agentOf({ agents, approver }: TaskOptions, name: string): Agent {
  const agent = agents[name]?.agent;
  if (!agent)
    throw new PawlError("INVALID_INPUT", `there is no subagent ${name}; there are ${Object.keys(agents).join(", ")}`);
  return { toolGraceMs: childGraceMs, ...agent, ...(approver ? { approver } : {}) };
}

/** Whether a session of this id was made by a task tool. */
export function isTaskSession(session: string): boolean {
  return session.startsWith(taskPrefix);
}

/** The session that gave this task; undefined where none did, or nothing says so any more. Fails with SESSION_NOT_FOUND. */
export async function parentOfTask(store: Store, session: string): Promise<string | undefined> {
  if (!isTaskSession(session)) return undefined;
  const [first] = await decodePage(store, session, await store.read(session, { limit: 1 }), 0).catch((error) => {
    if (isPawlError(error, "SESSION_NOT_FOUND")) throw error;
    return [];
  });
  return first?.event.type === "session.created" ? first.event.labels?.["parent"] : undefined;
}

interface ChildPlace {
  session: string;
  input: string;
}

/** The same for every run of the same call. */
function placeOf(parent: string, key: string): ChildPlace {
  const name = hash("sha256", JSON.stringify([parent, key]), "hex").slice(0, 32);
  return { session: taskPrefix + name, input: `in_${name}` };
}

async function childOf(runtime: Runtime, place: ChildPlace, parent: string, input: TaskInput): Promise<Session> {
  const { cwd, workspace } = (await runtime.store.get(parent))?.head ?? {};
  const where = { ...(cwd === undefined ? {} : { cwd }), ...(workspace === undefined ? {} : { workspace }) };
  const facts = { title: titleOf(input), agent: input.agent, labels: { parent }, ...where };
  try {
    return await createTask(runtime, place.session, facts);
  } catch (error) {
    if (!isPawlError(error, "SESSION_EXISTS")) throw error;
    return openSession(runtime, place.session);
  }
}

/** Lists show one line of it. */
const titleChars = 72;

function titleOf({ title, prompt }: TaskInput): string {
  const [first = ""] = (title ?? prompt).trim().split("\n", 1);
  return [...first].slice(0, titleChars).join("");
}

/** How far the child is with its input. */
async function foundOf(
  child: Session,
  input: string,
): Promise<{ state: "new" | "waits" | "open" | "ended"; result?: TurnResult }> {
  const report = new Report(child.id, ({ inputs }) => inputs.includes(input));
  let claimed = false;
  for (const entry of await child.entries()) {
    report.step(entry);
    claimed ||= entry.event.type === "turn.started" && entry.event.inputs.includes(input);
  }
  if (report.result) return { state: "ended", result: report.result };
  if (claimed) return { state: "open" };
  return { state: (await child.queue()).some(({ id }) => id === input) ? "waits" : "new" };
}

/** What a person, or another process, has done to the child meanwhile. As a plain failure it would be given once more, and done twice. */
function takenAway(error: unknown, session: string): string | undefined {
  if (isPawlError(error, "SESSION_NOT_FOUND"))
    return `The task did not complete: session ${session} has been deleted meanwhile, and its log with it. What it did up to then stands; look at it before you go on.`;
  if (isPawlError(error, "SESSION_BUSY"))
    return `The task goes on without this call: ${error.message}. Do not give it again; look at what it has done.`;
  if (isPawlError(error, "FENCED"))
    return `The task was taken over: another process has driven session ${session} since. Do not give it again; look at what it has done.`;
  return undefined;
}

function told({ outcome, failure, text, session }: TurnResult): { content: Part[]; isError: boolean } {
  if (outcome.type === "completed") return said(text.trim() || "The task is done; its agent said nothing.", false);
  const why = failure ? `: ${failure.message}` : "";
  const last = text.trim() === "" ? "" : ` Its last words were:\n${text.trim()}`;
  const words =
    `The task did not complete: it ended as ${outcome.type}${why}. What it did up to then stands; look at it before you go on. ` +
    `Its log is session ${session}.${last}`;
  return said(words, true);
}

function said(text: string, isError: boolean): { content: Part[]; isError: boolean } {
  return { content: [{ type: "text", text }], isError };
}
