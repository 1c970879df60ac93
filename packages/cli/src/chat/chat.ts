/**
 * An interactive session in a terminal: keys and live items in, frames out, and what a person asked for is done.
 *
 * Thin: what a key means is the desk's, what is told the story's, what is drawn the frame's.
 */
import { performance } from "node:perf_hooks";
import {
  type Agent,
  booksFold,
  isPawlError,
  type LiveItem,
  limit,
  type Outcome,
  type Session,
  type TurnResult,
} from "@pawl/core";
import { exitOfOutcome } from "../exit.ts";
import { inputText } from "../words.ts";
import { gap, type Printer, told } from "./block.ts";
import { commandChoices, runCommand, type TellTone } from "./command.ts";
import type { Desk, Intent } from "./desk.ts";
import { filesOf } from "./files.ts";
import { frameOf } from "./frame.ts";
import { Hands, type HandsPort } from "./hands.ts";
import type { History } from "./history.ts";
import type { Host } from "./host.ts";
import type { Key } from "./key.ts";
import { Link, type Start } from "./link.ts";
import type { Canvas } from "./screen.ts";
import { newSession } from "./session-choice.ts";
import { type Standing, standingOf } from "./standing.ts";
import { Story } from "./story.ts";

const counting = { books: booksFold, attemptsPerStep: limit.attemptsPerStep };

/** Words that stream are drawn this often at most; nothing else moves faster than twice a second. */
const drawMs = 50;
/** A frame that is costly is drawn more seldom: most of the time is for the turn. */
const drawShare = 4;
const tickMs = 500;
/** How often a driver that may have died is looked at. */
const lookTicks = 4;
/** Of what came before, so that one knows where one was; the whole is in `pawl show`. */
const recalledBlocks = 60;

export interface ChatParts {
  host: Host;
  screen: Canvas;
  history: History;
  size(): { columns: number; rows: number };
  suspend(): void;
}

export class Chat implements HandsPort {
  readonly #parts: ChatParts;
  readonly #hands = new Hands(this);
  readonly #desk: Desk;
  readonly #printer: Printer;
  readonly #left = Promise.withResolvers<void>();
  #link: Link | undefined;
  #drive: Promise<void> = Promise.resolve();
  #outcome: Outcome | undefined;
  #standing: Standing["state"] = "new";
  #timer: NodeJS.Timeout | undefined;
  readonly #ticker: NodeJS.Timeout;
  #ticks = 0;
  #isLeaving = false;
  /** Nothing is drawn any more: what comes late would be drawn into a shell. */
  #isOver = false;
  /** Of the last frame, ms. */
  #drawCost = 0;

  constructor(parts: ChatParts, desk: Desk, printer: Printer) {
    this.#parts = parts;
    this.#printer = printer;
    this.#desk = desk;
    this.#desk.commands = commandChoices;
    this.#desk.composer.recall(parts.history.read());
    this.#ticker = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** Resolves with the exit code when the person has left and nothing is driven any more. */
  async ended(): Promise<number> {
    await this.#left.promise;
    await this.#drive;
    clearInterval(this.#ticker);
    clearTimeout(this.#timer);
    this.#link?.close();
    const id = this.#link?.session.id;
    if (id !== undefined) this.#desk.story.add(gap, told("quiet", `to go on: pawl chat ${id}`));
    this.draw();
    this.#isOver = true;
    this.#parts.screen.clear(this.#parts.size().columns);
    return this.#outcome === undefined ? 0 : exitOfOutcome(this.#outcome.type);
  }

  /** Resolves when what the key asked for is begun. */
  async press(key: Key): Promise<void> {
    const intent = this.#desk.press(key, performance.now());
    this.draw();
    if (intent) await this.perform(intent);
  }

  async perform(intent: Intent): Promise<void> {
    await this.#perform(intent).catch((error: unknown) => this.complain(error));
  }

  denyAll(reason: string): void {
    for (const { call } of this.#desk.story.questions) this.#parts.host.answer(call.id, "deny", reason);
  }

  /** With what else happens meanwhile. */
  drawSoon(): void {
    this.#timer ??= setTimeout(() => this.draw(), Math.max(drawMs, drawShare * this.#drawCost));
  }

  draw(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isOver) return;
    const { host, screen, size } = this.#parts;
    const now = size();
    const from = performance.now();
    screen.draw(frameOf(this.#desk, this.#printer, host.facts(this.#desk.story.model), now, from), now.columns);
    this.#drawCost = performance.now() - from;
  }

  /** Begins with a session, or with the next input. */
  async attach(session: Session | undefined): Promise<void> {
    this.#link?.close();
    this.#link = undefined;
    const desk = this.#desk;
    desk.story = new Story(counting, desk.story.taken());
    desk.mode = "idle";
    desk.offer = undefined;
    desk.waiting = [];
    if (session) {
      const link = new Link(this.#parts.host.runtime, session, {
        item: (item) => this.#item(item),
        news: () => void this.#refresh(),
        broken: (error) => this.complain(error),
      });
      this.#link = link;
      const entries = await link.entries();
      desk.story.recall(entries, recalledBlocks, performance.now());
      this.#parts.host.suppose(entries);
      await this.#look();
      await this.#refresh();
    }
    this.draw();
  }

  /** A signal, or the terminal has gone. */
  end(): void {
    this.#outcome = { type: "aborted" };
    this.leave();
  }

  async #perform(intent: Intent): Promise<void> {
    const { host, history, screen, suspend, size } = this.#parts;
    const { story } = this.#desk;
    switch (intent.do) {
      case "send":
        history.add(intent.text);
        if (host.reply(intent.text)) return this.tell("quiet", `  ${intent.text}`);
        return this.#send(intent.text, intent.when).catch((error: unknown) => {
          // What could not be handed over is not lost: it is there to be sent again.
          if (this.#desk.composer.isEmpty) this.#desk.composer.set(intent.text);
          throw error;
        });
      case "command":
        return runCommand(this.#hands, intent.name, intent.rest);
      case "answer": {
        const asked = story.questions.find(({ approval }) => approval === intent.approval);
        if (!asked || host.answer(asked.call.id, intent.answer, intent.reason)) return;
        const answer = intent.answer === "deny" ? "deny" : "allow";
        const { digest } = asked;
        await this.#link?.session.answer(intent.approval, answer, {
          by: "terminal",
          ...(digest === undefined ? {} : { digest }),
          ...(intent.reason === undefined ? {} : { reason: intent.reason }),
        });
        return;
      }
      case "edit":
        history.add(intent.text);
        await this.#link?.session.edit(intent.id, intent.text);
        return this.#refresh();
      case "withdraw":
        await this.#link?.session.withdraw(intent.id);
        return this.#refresh();
      case "retry":
        return this.#link?.retryNow();
      case "interrupt":
        return this.stop();
      case "leave":
        return this.leave();
      case "suspend":
        return suspend();
      case "redraw":
        screen.clear(size().columns);
        return this.draw();
      case "show-thought":
        if (!story.tellThought()) this.#desk.hint = "there is no thought that can be shown";
        return this.draw();
      case "accept-offer":
        return this.#accept();
      case "want-files":
        return this.#listFiles();
    }
  }

  async #send(text: string, when: "now" | "next"): Promise<void> {
    await this.#hands.moving;
    const link = this.#link ?? (await this.#begun(text));
    if (this.#desk.mode === "idle" && !link.isDriving)
      return this.driveWith((session, agent, signal) => session.run(agent, text, { signal }), text);
    // Durable at once, whoever drives: a steer joins the next attempt, an input the next turn.
    await link.session.post(when === "now" ? "steer" : "input", text);
    return this.#refresh();
  }

  async #begun(text: string): Promise<Link> {
    const { host } = this.#parts;
    await host.agent();
    await this.attach(await newSession(host.runtime, host.cwd, text, host.options.workspace));
    if (!this.#link) throw new Error("the new session was not attached");
    return this.#link;
  }

  async #accept(): Promise<void> {
    const { offer } = this.#desk;
    if (offer === "resume") return this.#hands.resume();
    if (offer === "continue") return this.#hands.goOn();
    if (offer === "send-waiting") return this.#sendWaiting();
  }

  /** What was posted when nobody drove any more becomes the input of a turn of its own. */
  async #sendWaiting(): Promise<void> {
    const [first] = (await this.#link?.queue()) ?? [];
    if (!first) return;
    this.#parts.history.add(inputText(first.content));
    await this.#link?.session.withdraw(first.id);
    this.driveWith((session, agent, signal) => session.run(agent, first.content, { signal }));
  }

  /** Drives the session, where it is not driven here already. `text`: comes back to the composer where it could not be sent. */
  driveWith(start: Start, text?: string): void {
    const link = this.#link;
    if (!link || link.isDriving) return;
    this.#drive = this.#driven(link, start, text).catch((error: unknown) => this.complain(error));
  }

  async #prepared(): Promise<Agent> {
    const { agent, url } = await this.#parts.host.agent();
    this.#desk.story.url = url;
    return agent;
  }

  async #driven(link: Link, start: Start, text: string | undefined): Promise<void> {
    const desk = this.#desk;
    let result: TurnResult | undefined;
    try {
      Object.assign(desk, { mode: "driving", offer: undefined, stops: false, hint: undefined });
      desk.story.since = performance.now();
      this.draw();
      result = await link.drive(() => this.#prepared(), start);
    } catch (error) {
      if (text !== undefined && isPawlError(error, "SESSION_BUSY")) {
        await link.session.post("steer", text);
        this.tell("warn", "another process drives this session: your words were handed to it");
      } else {
        // What could not be sent is not lost: it is there to be sent again.
        if (text !== undefined && desk.story.turn === undefined && desk.composer.isEmpty) desk.composer.set(text);
        this.complain(error);
      }
    }
    desk.mode = "idle";
    desk.stops = false;
    if (desk.story.outcome) this.#outcome = desk.story.outcome;
    if (result) for (const words of this.#parts.host.advice(result, desk.story.url)) this.tell("quiet", `  ${words}`);
    await this.#look();
    await this.#refresh();
    // Posted in the moment in which the drive ended.
    if (
      result?.outcome.type === "completed" &&
      desk.waiting.length > 0 &&
      !this.#isLeaving &&
      !link.isDriving &&
      desk.mode === "idle"
    )
      await this.#sendWaiting();
  }

  #item(item: LiveItem): void {
    const desk = this.#desk;
    desk.story.see(item, performance.now());
    if (item.type === "entry") {
      const { type } = item.entry.event;
      if (type === "turn.started" || type === "turn.ended") {
        desk.stops = false;
        if (type === "turn.ended") desk.hint = undefined;
        if (!this.#link?.isDriving) void this.#look().catch((error: unknown) => this.complain(error));
      }
      if (type === "input.accepted") void this.#refresh();
    }
    this.drawSoon();
  }

  /** Who drives, and what can be done: asked anew whenever it may have changed. */
  async #look(): Promise<void> {
    const link = this.#link;
    if (!link || link.isDriving) return;
    const summary = await link.session.summary();
    if (!summary || link.isDriving || link !== this.#link) return;
    const desk = this.#desk;
    const { state, blocks, offer } = standingOf(summary, desk.story.recent, process.pid);
    desk.mode = state === "driven" ? "watching" : "idle";
    desk.offer = offer;
    if (state !== "driven") desk.story.rest();
    if (state !== this.#standing && (state === "driven" || state === "interrupted")) desk.story.add(gap, ...blocks);
    else if (offer === "continue")
      desk.hint = `Enter goes on from there${this.#standing === "new" ? " · /fork and /rewind go another way" : ""}`;
    this.#standing = state;
    this.draw();
  }

  async #refresh(): Promise<void> {
    const link = this.#link;
    if (!link) return;
    const queue = await link.queue().catch(() => []);
    if (link !== this.#link) return;
    const desk = this.#desk;
    desk.waiting = queue.map(({ id, kind, content }) => ({ id, kind, text: inputText(content) }));
    if (desk.edits !== undefined && !queue.some(({ id }) => id === desk.edits)) {
      desk.edits = undefined;
      desk.hint = "that message has been taken up meanwhile: what stands here would be a new one";
    }
    if (desk.mode === "idle" && desk.offer === undefined && queue.length > 0) desk.offer = "send-waiting";
    if (queue.length === 0 && desk.offer === "send-waiting") desk.offer = undefined;
    this.draw();
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#desk.mode === "idle") return;
    if (this.#desk.mode === "watching" && this.#ticks % lookTicks === 0) void this.#look().catch(() => {});
    this.draw();
  }

  complain(error: unknown): void {
    this.tell("bad", error instanceof Error ? error.message : String(error));
  }

  async #listFiles(): Promise<void> {
    this.#desk.filesCame(await filesOf(this.#parts.host.cwd));
    this.draw();
  }

  get host(): Host {
    return this.#parts.host;
  }

  get session(): Session | undefined {
    return this.#link?.session;
  }

  get isBusy(): boolean {
    return this.#link?.isDriving === true;
  }

  tell(tone: TellTone, text: string): void {
    this.#desk.story.add(told(tone, text));
    this.draw();
  }

  async stop(): Promise<void> {
    const { story } = this.#desk;
    const link = this.#link;
    if (!link) return;
    this.#desk.stops = link.isDriving;
    this.draw();
    if (story.turn === undefined) return link.endDrive();
    // A full disk takes no post: then the drive itself is ended.
    await link.session.abort(story.turn).catch(() => link.endDrive());
  }

  leave(): void {
    this.#isLeaving = true;
    this.#link?.endDrive();
    this.#left.resolve();
  }
}
