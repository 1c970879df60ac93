/** A copy of a session that somebody drives meanwhile: it is refused, and never said to be whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSession, type Runtime } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { copyOne, type Tally } from "../src/copy.ts";

const agent = () => ({ model: scriptedModel([[...say("done"), finish()]]) });
const tally = (): Tally => ({ copied: 0, there: 0, records: 0, problems: [] });

/** Does something before the mailbox is read, which is the last that is copied. */
function beforeMail(runtime: Runtime, act: () => Promise<unknown>): Runtime {
  const { store } = runtime;
  const mailbox = async (session: string) => {
    await act();
    return store.mailbox(session);
  };
  const seen = new Proxy(store, {
    get(target, name) {
      if (name === "mailbox") return mailbox;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { ...runtime, store: seen };
}

test("L3: a post that a turn takes up while its session is copied is not lost without a word", async () => {
  const [source, target] = [memoryRuntime(), memoryRuntime()];
  const session = await createSession(source, "one");
  await session.post("input", "it waits", "waits");
  const taken = beforeMail(source, () => session.run(agent(), "it waits", { id: "waits" }).result);
  const counted = tally();
  await assert.rejects(copyOne(taken, target, "one", counted), {
    code: "CONFLICT",
    message: /gone on while it was copied, by \d+ records; delete the copy and copy it again/,
  });
  assert.equal(counted.copied, 0);
  await target.store.delete("one");
});

test("L8: one that somebody began to drive since it was listed is refused", async () => {
  const [source, target] = [memoryRuntime(), memoryRuntime()];
  const session = await createSession(source, "one");
  await session.post("input", "it waits");
  const leased = beforeMail(source, () => source.store.acquireLease("one", source.holder, 60_000));
  await assert.rejects(copyOne(leased, target, "one", tally()), { code: "SESSION_BUSY" });
  await assert.rejects(copyOne(source, memoryRuntime(), "one", tally()), { code: "SESSION_BUSY" });
});
