/** A small space: every moment of a death, and a close mesh of stops and deaths, in every order of two tools. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Answer, call, finish, text } from "../src/model.ts";
import type { Mode } from "../src/people.ts";
import type { Plot } from "../src/plot.ts";
import { Random } from "../src/random.ts";
import { runSchedule } from "../src/schedule.ts";
import { drawSettings, type Settings } from "../src/settings.ts";

/** No fault but what is told. */
const none = Object.fromEntries(
  Object.entries(drawSettings(new Random(1))).map(([name, value]) => [name, typeof value === "number" ? 0 : value]),
) as Partial<Settings>;
const still: Partial<Settings> = {
  ...none,
  latencyMs: 1,
  paceMs: 5,
  eager: false,
  returning: false,
  preset: "default",
};

const script = (): Answer[] => [
  [...text("both", "1"), ...call("act", "c1"), ...call("act", "c2"), finish("tool-calls")],
  [...text("done", "1"), finish("stop")],
];

async function told(plot: Partial<Plot>, change: Partial<Settings> = {}): Promise<number> {
  let events = 0;
  const whole: Plot = {
    answers: script(),
    bodiesMs: [30, 60],
    ...plot,
    happened: (event, town) => {
      events = event;
      plot.happened?.(event, town);
    },
  };
  const { breaches, labels } = await runSchedule(1, { ...still, ...change }, whole);
  assert.deepEqual(breaches, [], labels.join("\n"));
  return events;
}

const orders: [string, number[]][] = [
  ["the first ends first", [30, 60]],
  ["the second ends first", [60, 30]],
  ["both end at once", [40, 40]],
];
const modes: Mode[] = ["resume", "run", "continue"];

describe("two writes at once", () => {
  for (const [order, bodiesMs] of orders) {
    test(`${order}: a death at every event, then every way to go on`, async () => {
      const events = await told({ bodiesMs: [...bodiesMs] });
      assert.ok(events > 40, `${events} events`);
      for (const mode of modes) {
        for (let at = 1; at <= events; at += 1) {
          const happened: Plot["happened"] = (event, town) => event === at && town.crashDriver("s", mode);
          await told({ bodiesMs: [...bodiesMs], happened });
        }
      }
    });

    test(`${order}: a stop at every second event, and a death at every third one after it`, async () => {
      const events = await told({ bodiesMs: [...bodiesMs] });
      for (let stop = 1; stop <= events; stop += 2) {
        for (let death = stop; death <= events + 20; death += 3) {
          const happened: Plot["happened"] = (event, town) => {
            if (event === stop) town.stop("s");
            if (event === death) town.crashDriver("s", "resume");
          };
          await told({ bodiesMs: [...bodiesMs], happened });
        }
      }
    });
  }

  test("two deaths, one after another, at every second event and every fifth one after it", async () => {
    const events = await told({});
    for (let first = 1; first <= events; first += 2) {
      for (let second = first + 1; second <= events + 40; second += 5) {
        const happened: Plot["happened"] = (event, town) => {
          if (event === first || event === second) town.crashDriver("s", "resume");
        };
        await told({ happened });
      }
    }
  });
});
