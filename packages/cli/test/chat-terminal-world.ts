/** A terminal of a test's own: the real `pawl` on a pseudo-terminal, and an emulator that shows what a person would see. */
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { IPty } from "@lydell/node-pty";
import headless from "@xterm/headless";
import type { World } from "./pawl-world.ts";

const bin = fileURLToPath(new URL("../bin/pawl.js", import.meta.url));
/** What ends a frame. */
const frameEnd = "\u001b[?2026l";

type Spawn = typeof import("@lydell/node-pty").spawn;

async function loaded(): Promise<{ spawn?: Spawn; why: string | false }> {
  try {
    const { spawn } = await import("@lydell/node-pty");
    spawn("true", [], {}).kill();
    return { spawn, why: false };
  } catch (error) {
    return { why: `no pseudo-terminal can be had here: ${error instanceof Error ? error.message : error}` };
  }
}

const { spawn, why } = await loaded();

/** For `skip`: a machine without pseudo-terminals, or without a built binding for them. */
export const noTerminal = why;

export class PersonsTerminal {
  readonly #pty: IPty;
  readonly #screen: InstanceType<typeof headless.Terminal>;
  /** Every byte that came. */
  raw = "";
  readonly exited: Promise<number>;
  #isOver = false;
  readonly #waiting = new Set<() => void>();

  constructor(
    t: TestContext,
    world: World,
    args: readonly string[],
    size: { cols: number; rows: number },
    env: NodeJS.ProcessEnv = {},
  ) {
    if (!spawn) throw new Error(String(why));
    this.#screen = new headless.Terminal({ ...size, scrollback: 10_000, allowProposedApi: true });
    this.#pty = spawn(process.execPath, [bin, ...args], {
      ...size,
      name: env["TERM"] ?? "xterm-256color",
      cwd: world.work,
      env: { ...world.env, ...env } as Record<string, string>,
    });
    t.after(() => {
      if (!this.#isOver) this.#pty.kill("SIGKILL");
    });
    this.#pty.onData((data) => {
      this.raw += data;
      this.#screen.write(data, () => this.#look());
    });
    const { promise, resolve } = Promise.withResolvers<number>();
    this.exited = promise;
    this.#pty.onExit(({ exitCode }) => {
      this.#screen.write("", () => {
        this.#isOver = true;
        this.#look();
        resolve(exitCode);
      });
    });
  }

  type(text: string): void {
    this.#pty.write(text);
  }

  resize(cols: number, rows: number): void {
    this.#screen.resize(cols, rows);
    this.#pty.resize(cols, rows);
  }

  kill(signal: NodeJS.Signals): void {
    this.#pty.kill(signal);
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** Everything that can be scrolled to, without blank rows at the end. */
  get text(): string {
    const { active } = this.#screen.buffer;
    const rows = Array.from(
      { length: active.length },
      (_, at) => active.getLine(at)?.translateToString(true).trimEnd() ?? "",
    );
    return rows.join("\n").trimEnd();
  }

  get cursor(): { x: number; y: number } {
    const { cursorX, cursorY, baseY } = this.#screen.buffer.active;
    return { x: cursorX, y: cursorY + baseY };
  }

  /** Resolves with the text when a whole frame has such words. Rejects when the process has ended without them. */
  async until(words: RegExp): Promise<string> {
    for (;;) {
      const text = this.text;
      if (words.test(text) && (this.#isOver || this.raw.endsWith(frameEnd))) return text;
      if (this.#isOver) throw new Error(`it ended without ${words}:\n${text}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Resolves when such words have come at all, drawn or not, or the process has ended. */
  async said(words: RegExp): Promise<void> {
    while (!words.test(this.raw) && !this.#isOver) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #look(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
