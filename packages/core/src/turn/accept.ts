/** How posts of a person enter the log: claimed by a turn, taken back before, or handed back after a stop. */
import type { Json } from "../log/event.ts";
import type { Driver } from "./driver.ts";
import type { InputPost, QueuedInput } from "./queue.ts";

/** The input is in the log, and its edits with it. */
export function acceptInput({ ledger }: Driver, { id, kind, content, edits }: InputPost): void {
  ledger.stage({ type: "input.accepted", input: id, kind, content });
  for (const edit of edits) ledger.consume(edit);
}

/** What was withdrawn in time leaves the mailbox; what came too late is told. */
export function recordWithdrawals({ ledger, inbox, withdrawn: taken }: Driver): void {
  const { withdrawn, late } = inbox.takeChanges();
  for (const { input, posts } of withdrawn) {
    taken.add(input);
    for (const post of posts) ledger.consume(post);
    ledger.stage({ type: "note.recorded", about: input, text: "withdrawn before a turn claimed it" });
  }
  for (const { id, kind, input } of late) {
    ledger.consume(id);
    const what = kind === "edit" ? "an edit" : "a withdrawal";
    ledger.stage({ type: "note.recorded", about: input, text: `${what} came when its input was no longer waiting` });
  }
}

/** After a stop, by policy: whatever still waits goes back to whoever started the turn. The log keeps what it was. */
export function returnInputs({ ledger, inbox }: Driver): QueuedInput[] {
  return inbox.takeAll().map(({ id, kind, content, edits }) => {
    for (const post of [id, ...edits]) ledger.consume(post);
    ledger.stage({
      type: "note.recorded",
      about: id,
      text: "handed back when its turn was stopped",
      data: { kind, content: content as unknown as Json },
    });
    return { id, kind, content };
  });
}
