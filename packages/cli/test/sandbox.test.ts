/** Commands in a sandbox of the system's: what they can write, see and reach, and that the supervisor's promises still hold. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { bubblewrapArguments } from "../src/tools/bubblewrap.ts";
import { openSandbox, placesOf, type SandboxOptions } from "../src/tools/sandbox.ts";
import { endRunningCommands } from "../src/tools/supervisor-link.ts";
import { firstLineOf, lastLine, World } from "./pawl-world.ts";
import { Folder } from "./tools-call.ts";

const everyday: SandboxOptions = {
  mode: "auto",
  network: true,
  writable: [],
  hidden: [],
  own: [],
  cwd: tmpdir(),
  env: process.env,
};
const probed = await openSandbox(everyday);
const skip = probed.wrap.length > 0 ? false : (probed.notice ?? "no sandbox");

async function confined(
  t: TestContext,
  options: Partial<SandboxOptions> = {},
  home?: (folder: string) => void,
): Promise<Folder> {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), "pawl-sandbox-")));
  t.after(() => rmSync(outer, { recursive: true, force: true }));
  home?.(outer);
  const plain = new Folder(t);
  const sandbox = await openSandbox({ ...everyday, cwd: plain.root, ...options });
  assert.ok(sandbox.wrap.length > 0, sandbox.notice);
  const folder = new Folder(t, {}, { sandbox, cwd: plain.root });
  return Object.assign(folder, { root: plain.root });
}

describe("in the sandbox", { skip }, () => {
  test("the workspace can be written, the rest only read, and the model is told why", async (t) => {
    const folder = await confined(t);
    assert.match(
      await folder.call("bash", { command: "echo hi > made && cat made /etc/hostname > /dev/null && echo good" }),
      /^good/,
    );
    assert.equal(folder.content("made"), "hi\n");
    const probe = `/etc/pawl-probe-${process.pid}`;
    const { text, isError } = await folder.result("bash", { command: `touch ${probe}` });
    assert.ok(isError && !existsSync(probe));
    assert.match(
      text,
      /Read-only file system[\s\S]*\[commands run in a sandbox: only the workspace and \/tmp can be written/,
    );
  });

  test("a job in the background is in it, too, is told why, and its end ends what left its group", async (t) => {
    const folder = await confined(t);
    const probe = `/etc/pawl-probe-${process.pid}`;
    const started = async (command: string) => {
      const text = await folder.call("bash", { command, background: true });
      return /job-\w{8}/.exec(text)?.[0];
    };
    const said = await folder.call("job_output", { id: await started(`touch ${probe}`), waitMs: 60_000 });
    assert.match(said, /Read-only file system[\s\S]*\[commands run in a sandbox/);
    assert.ok(!existsSync(probe));
    const id = await started(`(setsid sleep 600 ${process.pid}.1 &); sleep 600 ${process.pid}.1`);
    assert.match(await folder.call("job_kill", { id }), /it was ended by job_kill/);
    const left = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n");
    assert.equal(left.filter((args) => args.includes(`sleep 600 ${process.pid}.1`)).length, 0);
  });

  test("/tmp is private, and the same for the next command", async (t) => {
    const folder = await confined(t);
    const name = `pawl-probe-${process.pid}`;
    writeFileSync(join(tmpdir(), `${name}-outside`), "x");
    t.after(() => rmSync(join(tmpdir(), `${name}-outside`)));
    await folder.call("bash", { command: `echo kept > /tmp/${name}` });
    assert.ok(!existsSync(join(tmpdir(), name)));
    assert.match(
      await folder.call("bash", { command: `cat /tmp/${name}; ls /tmp/${name}-outside || true; echo $TMPDIR` }),
      /^kept\n[\s\S]*No such file[\s\S]*\/tmp\n/,
    );
  });

  test("what is hidden is hidden: a folder, a file, behind a link, and inside of what can be written", async (t) => {
    const outer = realpathSync(mkdtempSync(join(import.meta.dirname, "tmp-sandbox-")));
    t.after(() => rmSync(outer, { recursive: true, force: true }));
    mkdirSync(join(outer, "keys"));
    writeFileSync(join(outer, "keys/id"), "the-secret\n");
    writeFileSync(join(outer, "netrc"), "the-secret\n");
    symlinkSync(join(outer, "keys"), join(outer, "link"));
    for (const writable of [[], [outer]]) {
      const folder = await confined(t, { hidden: [join(outer, "link"), join(outer, "netrc")], writable });
      const said = await folder.call("bash", {
        command: `cat ${outer}/keys/id ${outer}/link/id ${outer}/netrc; ls -A ${outer}/keys; echo x > ${outer}/keys/y; umount ${outer}/keys; mount -o remount,rw / ; true`,
      });
      assert.doesNotMatch(said, /the-secret/);
      assert.ok(!existsSync(join(outer, "keys/y")));
    }
  });

  test("a skill inside of what is hidden can be read and run, not written, and nothing beside it is seen", async (t) => {
    const outer = realpathSync(mkdtempSync(join(import.meta.dirname, "tmp-sandbox-")));
    t.after(() => rmSync(outer, { recursive: true, force: true }));
    mkdirSync(join(outer, "skills/deploy"), { recursive: true });
    writeFileSync(join(outer, "skills/deploy/run.sh"), "echo ran\n");
    writeFileSync(join(outer, "config.json"), "the-secret");
    const folder = await confined(t, { own: [outer], visible: [join(outer, "skills/deploy")] });
    const command = `sh ${outer}/skills/deploy/run.sh; cat ${outer}/config.json; echo x > ${outer}/skills/deploy/y; echo x > ${outer}/z; true`;
    const said = await folder.call("bash", { command });
    assert.match(said, /ran\n/);
    assert.doesNotMatch(said, /the-secret/);
    assert.ok(!existsSync(join(outer, "skills/deploy/y")) && !existsSync(join(outer, "z")));
    assert.equal(said.match(/Read-only file system/g)?.length, 2);
  });

  test("a project that hides what every command needs gets no command to run, instead of one without a sandbox", async (t) => {
    const { root } = new Folder(t);
    const sandbox = await openSandbox({ ...everyday, cwd: root, hidden: ["/usr", "/bin"] });
    assert.match(sandbox.refuses ?? "", /sandbox\.hidden "\/usr", "\/bin" the sandbox cannot start/);
    assert.match(sandbox.notice ?? "", /Take out what every command needs/);
    const folder = new Folder(t, {}, { sandbox });
    await assert.rejects(folder.result("bash", { command: "touch made" }), /commands are refused/);
    assert.throws(() => folder.content("made"));
  });

  test("no process outside is seen: neither the agent's environment nor a signal reaches it", async (t) => {
    const folder = await confined(t);
    const said = await folder.call("bash", { command: `kill -0 ${process.pid} 2>&1; cat /proc/[0-9]*/comm; echo end` });
    assert.match(said, /No such process/);
    assert.match(said, /bash/);
    assert.doesNotMatch(said, /node/);
  });

  test("without network nothing is reached, and with it the address of this machine is", async (t) => {
    const { createServer } = await import("node:http");
    const server = createServer((_, response) => response.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const command = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`;
    assert.match(await (await confined(t)).call("bash", { command }), /reached/);
    const cut = await (await confined(t, { network: false })).result("bash", { command });
    assert.doesNotMatch(cut.text, /reached/);
    assert.ok(cut.isError);
  });

  test("exit codes and output come through; a deadline ends the group with all that it started", async (t) => {
    const folder = await confined(t);
    assert.match(
      await folder.call("bash", { command: "echo out; echo err >&2; exit 7" }),
      /^out\nerr\n\[exit code 7\]$/,
    );
    const mark = `77.${process.pid}`;
    const said = await folder.call("bash", {
      command: `setsid sleep ${mark} & sleep ${mark} & trap '' TERM; sleep ${mark}`,
      timeoutMs: 300,
    });
    assert.match(said, /ran into its limit of 300 ms/);
    assert.deepEqual(sleepers(mark), []);
  });

  test("what is left in the background goes on, is named without the sandbox's own process, and ends with the agent", async (t) => {
    const folder = await confined(t);
    const mark = `78.${process.pid}`;
    const said = await folder.call("bash", { command: `sleep ${mark} > /dev/null 2>&1 & echo started` });
    assert.match(
      said,
      new RegExp(`started\\n\\[exit code 0\\]\\n\\[still running in the background[^\\n]*sleep ${mark}`),
    );
    assert.doesNotMatch(said, /bwrap/);
    assert.equal(sleepers(mark).length, 1);
    endRunningCommands();
    assert.deepEqual(sleepers(mark), []);
  });

  test("killed in the middle of a command, pawl's turn is taken over with the command's true result", async (t) => {
    const world = new World(t);
    execFileSync("mkfifo", [join(world.work, "up"), join(world.work, "go")]);
    const command = "echo begun; echo yes > up; read -r line < go; echo once >> ran; echo ended";
    const server = await world.server([[{ call: "bash", input: { command } }], [{ text: "Done." }]]);
    world.configure({ sandbox: "require" });
    const run = world.start(["run", "Go", "--session", "s", "--yes", "--json", ...world.place(server)]);
    assert.equal(await firstLineOf(join(world.work, "up")), "yes");
    run.kill("SIGKILL");
    await run.ended;
    writeFileSync(join(world.work, "go"), "on\n");
    const resumed = await world.pawl(["resume", "s", "--yes", "--json", ...world.place(server)]);
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.equal(lastLine(resumed.stdout).text, "Done.");
    assert.equal(world.read("ran"), "once\n");
    assert.match((await world.shown("s")).join("\n"), /begun\\nended\\n\[exit code 0\]/);
  });

  test("pawl's own store and configuration are hidden from commands", async (t) => {
    const world = new World(t);
    // Not below /tmp, where nothing is seen anyway.
    const own = join(mkdtempSync(join(import.meta.dirname, "tmp-sandbox-")), "store");
    t.after(() => rmSync(dirname(own), { recursive: true, force: true }));
    const server = await world.server([
      [{ call: "bash", input: { command: `ls -A ${own}; echo "seen: $?"` } }],
      [{ text: "Done." }],
    ]);
    world.configure({ sandbox: "require" });
    const { stdout, stderr } = await world.pawl([
      "run",
      "Go",
      "--yes",
      "--json",
      ...world.place(server),
      "--store",
      own,
    ]);
    assert.match(stdout, /seen: 0/, stderr);
    assert.doesNotMatch(stdout, /pawl\.db/);
    assert.ok(existsSync(join(own, "pawl.db")));
  });
});

/** Pids of `sleep MARK`. */
function sleepers(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`sleep\0${mark}`);
    } catch {
      return false;
    }
  });
}

describe("where it cannot be had", () => {
  const env = { PATH: "/nowhere" };

  test("auto goes on and says so once; require refuses commands; off says nothing", async () => {
    const auto = await openSandbox({ ...everyday, env });
    assert.deepEqual([auto.wrap, auto.refuses], [[], undefined]);
    assert.match(auto.notice ?? "", /commands run without a sandbox: bubblewrap \(bwrap\) is not installed/);
    const required = await openSandbox({ ...everyday, env, mode: "require" });
    assert.match(required.refuses ?? "", /a sandbox is required, and bubblewrap/);
    assert.deepEqual(await openSandbox({ ...everyday, env, mode: "off" }), { wrap: [], env: {} });
  });

  test("a bwrap that does not work here is found out by starting it", async (t) => {
    const { root } = new Folder(t);
    writeFileSync(
      join(root, "bwrap"),
      "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
      { mode: 0o755 },
    );
    const { wrap, notice } = await openSandbox({ ...everyday, env: { PATH: root }, cwd: root });
    assert.deepEqual(wrap, []);
    assert.match(notice ?? "", /does not start here \(bwrap: No permissions to create new namespace\)/);
  });

  test("with require no command runs, and the model is told", async (t) => {
    const sandbox = await openSandbox({ ...everyday, env, mode: "require" });
    const folder = new Folder(t, {}, { sandbox });
    await assert.rejects(folder.call("bash", { command: "touch made" }), /commands are refused: a sandbox is required/);
    assert.ok(!existsSync(join(folder.root, "made")));
  });

  test("one line on standard error says so", async (t) => {
    const world = new World(t, { PATH: "/nowhere" });
    const server = await world.server({ entries: [[{ text: "Hi." }]], loop: true });
    world.configure({ sandbox: "auto" });
    const { stderr } = await world.pawl(["run", "Go", "--json", ...world.place(server)]);
    assert.match(stderr, /^pawl: commands run without a sandbox: .*\n$/);
    const off = await world.pawl(["run", "Go", "--json", "--sandbox", "off", ...world.place(server)]);
    assert.doesNotMatch(off.stderr, /sandbox/);
  });
});

test("arguments: what is hidden comes after what is writable, and nothing that holds the workspace is hidden", (t) => {
  const folder = new Folder(t, { "a/keys/x": "" });
  const options = {
    cwd: folder.root,
    own: [],
    writable: [folder.outside],
    hidden: ["a/keys", join(folder.root, "a/keys/x"), join(folder.root, ".."), folder.outside, "/nowhere"],
  };
  const { workspace, writable, hidden } = placesOf(options);
  assert.deepEqual(
    hidden.filter(({ path }) => path.startsWith(join(folder.root, ".."))),
    [{ path: join(folder.root, "a/keys"), kind: "folder" }],
  );
  const args = bubblewrapArguments({ workspace, writable, hidden, visible: [], temporary: "/t", network: false });
  const line = args.join(" ");
  assert.ok(line.indexOf(`--bind ${workspace}`) < line.indexOf(`--tmpfs ${join(workspace, "a/keys")}`));
  assert.ok(line.indexOf("--bind /t /tmp") < line.indexOf(`--bind ${workspace}`), "a workspace below /tmp is seen");
  assert.ok(args.includes("--unshare-net"));
  assert.equal(args.at(-1), "--");
});
