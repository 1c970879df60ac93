/**
 * Who drives a session that is followed, and what follows from a change of that: for whoever looks from outside.
 *
 * A lease is no event, and its end is news to nobody: it is looked at once a second.
 */
import { type SessionSummary, type WorkspaceWait, workspaceWait } from "@pawl/core";
import type { Tone } from "./style.ts";
import { waitWords } from "./words.ts";

type Holder = NonNullable<SessionSummary["lease"]>["holder"];

/** What is known of the driver: nothing yet, that there is none, or which one. */
export interface Driver {
  epoch?: number;
  holder?: Holder;
  /** A turn is open, and nobody drives it. */
  isLeft: boolean;
  /** Nobody drives it, and it needs more than a process. */
  waits?: WorkspaceWait;
}

export interface DriverNews {
  driver: Driver;
  said?: { tone: Tone; text: string };
}

/** What a look at the session says that was not known before. */
export function driverNews(known: Driver | undefined, summary: SessionSummary): DriverNews {
  const { lease, head } = summary;
  if (lease) {
    const driver = { epoch: lease.epoch, holder: lease.holder, isLeft: false };
    if (known?.epoch === lease.epoch && !known.isLeft) return { driver };
    const verb = !known ? "is driven" : known.holder?.id === lease.holder.id ? "is driven again" : "is driven now";
    return { driver, said: { tone: "quiet", text: `it ${verb} by ${holderWords(lease.holder)}` } };
  }
  const { waits: before, ...rest } = known ?? {};
  const waits = workspaceWait(summary);
  const driver = { ...rest, isLeft: head.openTurn !== undefined, ...(waits && { waits }) };
  if (driver.isLeft && !known?.isLeft) {
    // Ended, or alive and handing over: a look cannot tell.
    const who = known?.holder ? holderWords(known.holder) : "the process that drove it";
    const now = waits ? `it ${waitWords(waits)}` : "nobody drives it";
    return { driver, said: { tone: "warn", text: `! ${who} has left it within a turn; ${now}` } };
  }
  return waits && !before ? { driver, said: { tone: "warn", text: `it ${waitWords(waits)}` } } : { driver };
}

/** Nothing is open, nobody drives, and it does not wait for what it needs. */
export function isIdle(summary: SessionSummary): boolean {
  return summary.head.openTurn === undefined && !summary.lease && !workspaceWait(summary);
}

export function holderWords({ pid, host }: Holder): string {
  return `process ${pid} on ${host}`;
}

const lookMs = 1_000;

export interface DriverWatchOptions {
  look(): Promise<SessionSummary | undefined>;
  news(news: DriverNews): void;
  /** There is nothing to wait for, and nothing has been heard since the last look. */
  idle(): void;
}

export class DriverWatch {
  readonly #options: DriverWatchOptions;
  #driver: Driver | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #looking = false;
  /** Looks since something was heard at which nothing was open. */
  #idle = 0;

  constructor(options: DriverWatchOptions, summary: SessionSummary) {
    this.#options = options;
    this.#see(summary);
  }

  get driver(): Driver | undefined {
    return this.#driver;
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#look(), lookMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Something is told of the session, written under this epoch if it is a record: a new one has a new driver. */
  heard(epoch = 0): void {
    this.#idle = 0;
    if (epoch > (this.#driver?.epoch ?? 0)) void this.#look();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    clearTimeout(this.#timer);
    try {
      const summary = await this.#options.look();
      if (this.#stopped) return;
      if (summary) this.#see(summary);
      this.#idle = summary && isIdle(summary) ? this.#idle + 1 : 0;
      // One look alone may fall between the lease and the first record of a turn, or before what is still to be shown.
      if (this.#idle >= 2) this.#options.idle();
    } catch {
      // A store that cannot be read ends the watch itself, with its own words.
    }
    this.#looking = false;
    if (!this.#stopped) this.start();
  }

  #see(summary: SessionSummary): void {
    const news = driverNews(this.#driver, summary);
    this.#driver = news.driver;
    if (news.said) this.#options.news(news);
  }
}
