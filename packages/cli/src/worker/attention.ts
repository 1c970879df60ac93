/**
 * What the driven sessions do right now, from what is told live: which of them only wait for a person. Pure bookkeeping.
 *
 * A drain need not wait for those: nothing runs that would be cut off, and the question stands in the log.
 */
import type { LiveItem } from "@pawl/core";

interface Doing {
  /** Requests and tool bodies under way. */
  running: Set<string>;
  /** Questions that are open. */
  asked: Map<string, string>;
}

export class Attention {
  readonly #sessions = new Map<string, Doing>();

  begin(session: string): void {
    this.#sessions.set(session, { running: new Set(), asked: new Map() });
  }

  end(session: string): void {
    this.#sessions.delete(session);
  }

  /** Whether every session that is driven waits for a person, and does nothing else. */
  get onlyPeople(): boolean {
    return [...this.#sessions.values()].every(({ running, asked }) => asked.size > 0 && running.size === 0);
  }

  /** Those that are in the middle of something. */
  get busy(): string[] {
    return [...this.#sessions].flatMap(([session, { running }]) => (running.size > 0 ? [session] : []));
  }

  hear(session: string, item: LiveItem): void {
    const doing = this.#sessions.get(session);
    if (!doing) return;
    const { running, asked } = doing;
    if (item.type === "approval.pending") asked.set(item.approval.approval, item.approval.call);
    if (item.type !== "entry") return;
    const { event } = item.entry;
    switch (event.type) {
      case "attempt.started":
        return void running.add(event.attempt);
      case "attempt.ended":
        return void running.delete(event.attempt);
      case "tool.entered":
        return void running.add(event.call);
      case "tool.settled":
        running.delete(event.call);
        for (const [approval, call] of asked) if (call === event.call) asked.delete(approval);
        return;
      case "approval.resolved":
        return void asked.delete(event.approval);
      case "turn.ended":
        running.clear();
        return asked.clear();
      default:
        return;
    }
  }
}
