/** Workers of the real `pawl` over one store, and a command that waits in its middle until it is let go. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Entry, ModelServer, RecordedRequest } from "@pawl/model-server";
import { type Ended, firstLineOf, type LoggedEvent, type Running, type World } from "./pawl-world.ts";

/** Calls once, and has the last word when the call has its result. */
export function callsOnce(command: string): (request: RecordedRequest) => Entry {
  return ({ body }) =>
    /"role":"tool"/.test(body)
      ? [{ text: "It is done." }]
      : [{ text: "I run it." }, { call: "bash", input: { command } }];
}

/** A command that says when it has begun, and goes on when it is told to. Each run of it leaves a line. */
export class Gate {
  readonly #begun: string;
  readonly #go: string;
  readonly #ran: string;

  constructor({ root }: World) {
    [this.#begun, this.#go, this.#ran] = [join(root, "begun"), join(root, "go"), join(root, "ran")];
    for (const pipe of [this.#begun, this.#go]) assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
  }

  get command(): string {
    return `echo ran >> ${this.#ran}; echo begun > ${this.#begun}; read line < ${this.#go}; echo went`;
  }

  begun(): Promise<string> {
    return firstLineOf(this.#begun);
  }

  /** Opening it for writing waits for the reader: only after `begun`. */
  open(): void {
    writeFileSync(this.#go, "go\n");
  }

  get runs(): number {
    return readFileSync(this.#ran, "utf8").trim().split("\n").length;
  }
}

/** A store in use by workers and by those who hand them work. */
export class Yard {
  readonly world: World;
  readonly store: string;
  readonly #server: ModelServer;

  constructor(world: World, server: ModelServer, store: string) {
    this.world = world;
    this.#server = server;
    this.store = store;
  }

  worker(...more: string[]): Running {
    return this.workerOn({}, ...more);
  }

  /** With an environment as another machine has it. */
  workerOn(env: NodeJS.ProcessEnv, ...more: string[]): Running {
    const model = ["--model", "openai-chat:scripted", "--base-url", this.#server.baseUrl("chat")];
    return this.world.start(["worker", "--json", ...model, ...more, "--store", this.store], env);
  }

  async pawl(...args: string[]): Promise<Ended> {
    return this.world.pawl([...args, "--store", this.store]);
  }

  /** The new session's id. */
  async post(prompt: string, ...more: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.pawl("post", prompt, ...more);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  async events(session: string): Promise<LoggedEvent[]> {
    const { code, stdout, stderr } = await this.pawl("show", session, "--json");
    assert.equal(code, 0, stderr);
    return stdout
      .trimEnd()
      .split("\n")
      .map((text) => JSON.parse(text) as LoggedEvent);
  }

  /** Its last turn is done, its log is lawful, and what the tools said is returned. */
  async done(session: string): Promise<string> {
    const events = await this.events(session);
    assert.deepEqual(
      events.filter(({ type }) => type === "turn.ended").map(({ outcome }) => outcome),
      [{ type: "completed" }],
    );
    const { code, stdout, stderr } = await this.pawl("verify", session);
    assert.equal(code, 0, stdout + stderr);
    return JSON.stringify(events.filter(({ type }) => type === "tool.settled"));
  }
}

/** Resolves with the first line of such an event; rejects with what was said where the process ends without. */
export async function told(worker: Running, type: string, session?: string): Promise<{ [field: string]: unknown }> {
  for (let count = 0; ; count += 1) {
    await worker.linesSeen(count + 1);
    const text = worker.lines[count];
    if (text === undefined) throw new Error(`no ${type} was told: ${worker.lines.join("\n")}\n${worker.stderr}`);
    const event = JSON.parse(text) as { type: string; session?: string };
    if (event.type === type && (session === undefined || event.session === session)) return event;
  }
}
