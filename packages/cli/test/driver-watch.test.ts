/** What a look at a followed session says of its driver. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionSummary } from "@pawl/core";
import { type Driver, driverNews } from "../src/driver-watch.ts";

const holder = (pid: number) => ({ id: `h${pid}`, host: "here", boot: "b", pid, start: "1" });

function looked(open: boolean, lease?: { epoch: number; pid: number }): SessionSummary {
  return {
    ...{ session: "s", seq: 3, epoch: lease?.epoch ?? 0, createdAt: 0, updatedAt: 0 },
    head: open ? { openTurn: "t" } : { outcome: "completed" },
    ...(lease ? { lease: { epoch: lease.epoch, holder: holder(lease.pid), expiresAt: 0 } } : {}),
  };
}

/** What is said at each look, one after the other. */
function said(...looks: SessionSummary[]): (string | undefined)[] {
  let known: Driver | undefined;
  return looks.map((look) => {
    const news = driverNews(known, look);
    known = news.driver;
    return news.said?.text;
  });
}

const first = { epoch: 1, pid: 10 };
const second = { epoch: 2, pid: 20 };

test("a driver is told once, its death once, and who takes over", () => {
  assert.deepEqual(said(looked(true, first), looked(true, first), looked(true), looked(true), looked(true, second)), [
    "it is driven by process 10 on here",
    undefined,
    "! process 10 on here has left it within a turn; nobody drives it",
    undefined,
    "it is driven now by process 20 on here",
  ]);
});

test("a take-over that nobody looked at in between is told; a driver that comes back is told as the same", () => {
  assert.deepEqual(said(looked(true, first), looked(true, second)).at(-1), "it is driven now by process 20 on here");
  const again = said(looked(true, first), looked(true), looked(true, first));
  assert.equal(again.at(-1), "it is driven again by process 10 on here");
});

test("a session that was left before is told as such; one where nothing is open says nothing", () => {
  assert.deepEqual(said(looked(true)), ["! the process that drove it has left it within a turn; nobody drives it"]);
  assert.deepEqual(said(looked(false), looked(true, first), looked(false)), [
    undefined,
    "it is driven now by process 10 on here",
    undefined,
  ]);
});

test("what waits for a workspace is told once, also where no turn is open, and again when it is left again", () => {
  const needy = (open: boolean, more: Partial<SessionSummary> = {}): SessionSummary => {
    const look = looked(open);
    return { ...look, head: { ...look.head, workspace: "disk-a" }, ...more };
  };
  const lease = { epoch: 1, holder: holder(10), expiresAt: 0 };
  const posted = needy(false, { waitingSince: 0 });
  const told = said(
    needy(false),
    posted,
    posted,
    needy(true, { lease }),
    needy(true),
    needy(true),
    needy(false),
    posted,
  );
  const wait = /waits for a worker that has the workspace disk-a, since \d{4}-/;
  assert.deepEqual([told[0], told[2], told[5], told[6]], [undefined, undefined, undefined, undefined]);
  assert.match(told[1] ?? "", new RegExp(`^it ${wait.source}`));
  assert.equal(told[3], "it is driven now by process 10 on here");
  assert.match(told[4] ?? "", new RegExp(`^! process 10 on here has left it within a turn; it ${wait.source}`));
  assert.match(told[7] ?? "", new RegExp(`^it ${wait.source}`));
});
