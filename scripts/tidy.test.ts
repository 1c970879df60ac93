/**
 * Style as a test, and as a ratchet: sizes, names, import direction, banned calls, dead files. What is over a limit
 * today stands in `allowed` with its size; it may shrink, never grow.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { importsOf, root, type Source, sources } from "./source.ts";

const all = sources();
const shipped = all.filter((source) => !source.isTest && source.path.startsWith("packages/"));

const limits = { source: 400, test: 600, functionLines: 70, medianLines: 150 };
/** Path, or path and function, to lines. Empty is how it should stay. */
const allowed: Record<string, number> = {};

function over(name: string, lines: number, most: number): string[] {
  return lines > Math.max(most, allowed[name] ?? 0) ? [`${name}: ${lines} lines, at most ${most}`] : [];
}

test("files stay small", () => {
  const wrong = all.flatMap(({ path, lines, isTest }) =>
    over(path, lines.length, isTest ? limits.test : limits.source),
  );
  assert.deepEqual(wrong, []);
});

test("the median file is about 120 lines", () => {
  const sizes = shipped.map(({ lines }) => lines.length).sort((a, b) => a - b);
  const median = sizes[Math.floor(sizes.length / 2)] ?? 0;
  assert.ok(median <= limits.medianLines, `the median is ${median}`);
});

test("functions stay small", () => {
  // The formatter puts the closing brace of a function at the indent of its first line.
  const head =
    /^(\s*)(?:export )?(?:(?:async )?function\*? (\w+)|(?:static )?(?:async )?\*?(#?\w+)\([^;]*\)[^;=]*) .*\{$|^(\s*)(?:export )?(?:async )?function\*? (\w+)/;
  const wrong = shipped.flatMap(({ path, lines }) =>
    lines.flatMap((line, start) => {
      const match = head.exec(line);
      if (!match) return [];
      const indent = match[1] ?? match[4] ?? "";
      const name = match[2] ?? match[3] ?? match[5] ?? "";
      if (["if", "for", "while", "switch", "catch"].includes(name)) return [];
      const end = lines.findIndex((other, at) => at > start && (other === `${indent}}` || other === `${indent}},`));
      return end < 0 ? [] : over(`${path} ${name}`, end - start + 1, limits.functionLines);
    }),
  );
  assert.deepEqual(wrong, []);
});

test("names are nouns of the vocabulary, faces are at the top", () => {
  const wrong = shipped.flatMap(({ path, text }) => [
    ...(/\/(utils?|helpers?|common|types|constants|misc)\.ts$/.test(path) ? [`${path}: name it after what it is`] : []),
    ...(/\/src\/.+\/index\.ts$/.test(path) ? [`${path}: no index inside folders`] : []),
    ...(/^export \*/m.test(text) ? [`${path}: exports are explicit`] : []),
    ...(/^export default/m.test(text) ? [`${path}: exports have names`] : []),
  ]);
  assert.deepEqual(wrong, []);
});

/** A floor of core may import itself and what is listed: log <- store, attempt, tool, context, view <- turn <- faces. */
const ground = ["log", "error", "effects", "limit", "signal"];
const floors: Record<string, string[]> = {
  error: [],
  limit: [],
  signal: [],
  effects: ["limit"],
  log: ["error", "limit"],
  store: ground,
  attempt: ground,
  tool: ground,
  context: [...ground, "tool"],
  foreign: [...ground, "store", "attempt", "tool", "context"],
  view: ["log", "error"],
  turn: [...ground, "store", "attempt", "tool", "context", "view"],
  node: [...ground, "store"],
  doctor: [...ground, "store", "tool", "turn", "node"],
  testing: [...ground, "store", "attempt", "tool", "context", "view", "turn", "node"],
};

test("each floor imports only what stands below it", () => {
  const wrong = shipped.flatMap((source) => {
    const floor = floorOf(source.path);
    if (floor === undefined || !Object.hasOwn(floors, floor)) return [];
    return importsOf(source)
      .map(floorOf)
      .filter(
        (target): target is string => target !== undefined && target !== floor && !floors[floor]?.includes(target),
      )
      .map((target) => `${source.path} imports ${target}`);
  });
  assert.deepEqual(wrong, []);
});

function floorOf(path: string): string | undefined {
  const [, name, isFile] = /^packages\/core\/src\/(\w+)(\.ts)?/.exec(path) ?? [];
  // node.ts, store.ts, testing.ts and index.ts are faces: they stand above everything.
  return isFile && name !== undefined && ["node", "store", "testing", "index"].includes(name) ? undefined : name;
}

test("packages know each other by their public face only", () => {
  const wrong = all
    .filter(({ isTest }) => !isTest)
    .flatMap((source) => {
      const home = /^packages\/([\w-]+)\//.exec(source.path)?.[1];
      return (
        importsOf(source)
          .filter(
            (target) => home !== undefined && target.startsWith("packages/") && !target.startsWith(`packages/${home}/`),
          )
          // A program is a face, too: whoever starts it knows it by its file.
          .filter((target) => !/^packages\/[\w-]+\/bin\//.test(target))
          .map((target) => `${source.path} imports ${target}`)
      );
    });
  assert.deepEqual(wrong, []);
});

test("the outside world enters core through its effects alone", () => {
  const banned =
    /\b(Date\.now|performance\.now|setTimeout|setInterval|setImmediate|Math\.random|randomUUID|randomBytes)\b|(?<![.\w])fetch\(/;
  const wrong = shipped
    .filter(({ path }) => /^packages\/core\/src\/(?!node\/|testing\/)/.test(path))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        banned.test(line) && !/^\s*(\*|\/\/|\/\*)/.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
      ),
    );
  assert.deepEqual(wrong, []);
});

test("signals are joined so that a source which lives on forgets it (joinSignals)", () => {
  const wrong = shipped
    // The scripted endpoint stands alone, and depends on no runtime.
    .filter(({ path }) => !path.startsWith("packages/model-server/"))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => (/AbortSignal\.any\(/.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
  assert.deepEqual(wrong, []);
});

test("the view runs in a browser", () => {
  const wrong = shipped
    .filter(({ path }) => path.startsWith("packages/core/src/view/"))
    .flatMap((source) =>
      source.lines
        .filter((line) => /^import (?!type)/.test(line) && /"node:|\.\.\//.test(line))
        .map((line) => `${source.path}: ${line}`),
    );
  assert.deepEqual(wrong, []);
});

test("no file is dead", () => {
  const byPath = new Map(all.map((source) => [source.path, source]));
  const reached = new Set<string>();
  const queue = [
    ...entryPoints(),
    ...all.filter(({ path }) => /^(bench|examples|scripts)\//.test(path)).map(({ path }) => path),
  ];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const source = byPath.get(path);
    if (!source || reached.has(path)) continue;
    reached.add(path);
    queue.push(...importsOf(source), ...workersOf(source));
  }
  assert.deepEqual(
    shipped.map(({ path }) => path).filter((path) => !reached.has(path)),
    [],
  );
});

/** A worker's file is named without its ending, since it differs between source and build. */
function workersOf({ path, text }: Source): string[] {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return [...text.matchAll(/"\.\/([\w-]*worker[\w-]*)(?:\.ts)?"|`\.\/([\w-]*worker[\w-]*)\$\{/g)].map(
    ([, a, b]) => `${folder}${a ?? b}.ts`,
  );
}

function entryPoints(): string[] {
  return ["core", "model-server", "otel", "simulation", "postgres", "pg-boss", "cli"].flatMap((name) => {
    const folder = `packages/${name}`;
    const face = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
      exports?: Record<string, string>;
      bin?: Record<string, string>;
    };
    const named = [...Object.values(face.exports ?? {}), ...Object.values(face.bin ?? {})].map((path) =>
      join(folder, path),
    );
    return [...named, ...(existsSync(join(root, folder, "src/main.ts")) ? [`${folder}/src/main.ts`] : [])];
  });
}

test("no test is skipped, pending or exclusive", () => {
  const wrong = all
    .filter(({ isTest, path }) => isTest && path !== "scripts/tidy.test.ts")
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        /\b(it|test|describe)\.(skip|todo|only)\b/.test(line) ? [`${path}:${index + 1}`] : [],
      ),
    );
  assert.deepEqual(wrong, []);
});
