/** What every command has: help with an example. Completion, the list of sessions, the simulation. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { createSession } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { World } from "./pawl-world.ts";

async function commands(world: World): Promise<string[]> {
  const { stdout } = await world.pawl(["--help"]);
  const [, list = ""] = stdout.split("Commands:");
  return [...list.matchAll(/^ {2}([a-z]+)/gm)].flatMap(([, name]) =>
    name === undefined || name === "help" ? [] : [name],
  );
}

test("every command's help has an example; each that a program may read has --json", async (t) => {
  const world = new World(t);
  const names = await commands(world);
  for (const name of ["config", "models", "grants", "cost", "completion", "simulate", "sessions"])
    assert.ok(names.includes(name), name);
  const spoken = new Set(["chat", "demo", "completion", "simulate"]);
  for (const args of [...names.map((name) => [name]), ["config", "path"], ["config", "trust"]]) {
    const { code, stdout } = await world.pawl([...args, "--help"]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`Examples?:\\n {2}.*pawl ${args.join(" ")}`, "s"), args.join(" "));
    if (!spoken.has(args[0] ?? "") && args.length === 1) assert.match(stdout, /--json/, args.join(" "));
  }
});

test("a reader that has gone is no crash, whatever the command", async (t) => {
  const world = new World(t);
  for (const args of [["--help"], ["config", "--json"], ["completion", "bash"], ["sessions", "--store", world.store]]) {
    const running = world.start(args);
    running.process.stdout?.destroy();
    const { code, stderr } = await running.ended;
    assert.deepEqual([code, stderr], [141, ""], args.join(" "));
  }
});

describe("completion", () => {
  test("bash completes commands, inner commands, options, choices and folders", async (t) => {
    const world = new World(t);
    const { stdout } = await world.pawl(["completion", "bash"]);
    const script = join(world.root, "completion");
    writeFileSync(script, stdout);
    const completed = (...words: string[]) => {
      const line = `source ${script}; COMP_WORDS=(pawl ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _pawl; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout: said, stderr } = spawnSync("bash", ["--norc", "-c", line], { encoding: "utf8", cwd: world.root });
      assert.equal(stderr, "");
      return said.trim().split("\n");
    };
    assert.deepEqual(completed("res"), ["resume"]);
    assert.deepEqual(completed("config", "tr"), ["trust"]);
    assert.deepEqual(completed("config", "trust", "--rem"), ["--remove"]);
    assert.deepEqual(completed("run", "do it", "--mo"), ["--model", "--mode"]);
    assert.deepEqual(completed("run", "do it", "--mode", "a"), ["ask", "accept-edits", "all"]);
    assert.deepEqual(completed("run", "--cwd", "wo"), ["work"]);
    mkdirSync(join(world.root, "my project"));
    assert.deepEqual(completed("run", "--cwd", "my"), ["my project"]);
  });

  for (const shell of ["zsh", "fish"]) {
    const skip = spawnSync(shell, ["--version"]).status === 0 ? false : `there is no ${shell} here`;
    test(`${shell} can read its script`, { skip }, async (t) => {
      const { stdout } = await new World(t).pawl(["completion", shell]);
      assert.equal(spawnSync(shell, ["-n"], { input: stdout }).status, 0);
    });
  }

  test("the scripts hold what a quote or a dollar could break, and an unknown shell is one clear line", async (t) => {
    const world = new World(t);
    const { stdout } = await world.pawl(["completion", "fish"]);
    const lines = stdout.trimEnd().split("\n").slice(1);
    assert.ok(lines.length > 100, `${lines.length} lines`);
    for (const line of lines) assert.match(line, /^complete -c pawl /);
    for (const line of lines)
      assert.equal(
        line.replaceAll("\\'", "").match(/'/g)?.length ?? 0,
        (line.replaceAll("\\'", "").match(/'[^']*'/g)?.length ?? 0) * 2,
        line,
      );
    assert.match(
      stdout,
      /-n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from path trust' -a trust /,
    );
    const { code, stderr } = await world.pawl(["completion", "tcsh"]);
    assert.deepEqual([code, stderr], [2, 'pawl: "tcsh": write one of bash, zsh, fish\n']);
  });
});

async function furnished(t: TestContext): Promise<{ world: World; list(...args: string[]): Promise<string[]> }> {
  const world = new World(t);
  const runtime = await openRuntime({ dir: world.store });
  for (let at = 1; at <= 5; at += 1)
    await createSession(runtime, `n${at}`, {
      title: at % 2 === 0 ? `Fix the PARSER ${at}` : "Other",
      cwd: at < 3 ? world.work : `${world.work}-2`,
    });
  await runtime.store.setName("release", "n5");
  await runtime.store.close();
  const list = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.pawl(["sessions", "--json", "--store", world.store, ...args]);
    assert.equal(code, 0, stderr);
    return stdout
      .trim()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as { session: string }).session)
      .sort();
  };
  return { world, list };
}

test("sessions by a text, by a folder, and page by page until none is left", async (t) => {
  const { world, list } = await furnished(t);
  assert.deepEqual(await list("--search", "parser"), ["n2", "n4"]);
  assert.deepEqual(await list("--search", "RELEASE"), ["n5"]);
  assert.deepEqual(await list("--search", "n3"), ["n3"]);
  assert.deepEqual(await list("--cwd"), ["n1", "n2"], "a folder whose name only begins the same is another");
  assert.deepEqual(await list("--cwd", "--search", "parser"), ["n2"]);
  assert.deepEqual(await list("--all", "--limit", "1"), ["n1", "n2", "n3", "n4", "n5"]);
  const seen: string[] = [];
  for (let cursor: string[] = []; ; ) {
    const { stdout } = await world.pawl(["sessions", "--limit", "2", "--store", world.store, ...cursor]);
    seen.push(...[...stdout.matchAll(/^n\d/gm)].map(([id]) => id));
    const [, next] = /--cursor\s+(\S+)/.exec(stdout) ?? [];
    if (next === undefined) break;
    cursor = ["--cursor", next];
  }
  assert.deepEqual(seen.sort(), ["n1", "n2", "n3", "n4", "n5"]);
  assert.match(
    (await world.pawl(["sessions", "--search", "nothing", "--store", world.store])).stdout,
    /no such session/,
  );
  assert.match(
    (await world.pawl(["sessions", "--cursor", "x", "--store", world.store])).stderr,
    /--cursor "x": write what the page before ended with/,
  );
});

test("pawl simulate runs the simulation of a clone", async (t) => {
  const { code, stdout, stderr } = await new World(t).pawl(["simulate", "--seeds", "nonsense"]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /--seeds is FROM\.\.TO/);
});
