/**
 * Builds what is published, and nothing else: Node strips no types below `node_modules`. Everyone who works here runs the sources.
 *
 *   node scripts/build.ts [FOLDER]      packages as they are packed, in FOLDER (default: dist)
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "./source.ts";

/** In the order of who needs whom. */
export const published = ["core", "model-server", "otel", "postgres", "pg-boss", "cli"] as const;

interface Manifest {
  name: string;
  exports?: Record<string, string>;
  bin?: Record<string, string>;
  devDependencies?: unknown;
  [field: string]: unknown;
}

/** Builds every published package into `folder`. Throws with what the compiler said. */
export function build(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const paths: Record<string, string[]> = {};
  for (const name of published) {
    const home = join(root, "packages", name);
    const to = join(folder, name);
    mkdirSync(to, { recursive: true });
    const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest;
    compile(home, to, paths);
    for (const [face, source] of Object.entries(manifest.exports ?? {}))
      paths[face === "." ? manifest.name : manifest.name + face.slice(1)] = [join(to, built(source, ".d.ts"))];
    writeFileSync(join(to, "package.json"), `${JSON.stringify(packed(manifest), null, 2)}\n`);
    copyFiles(name, home, to);
  }
}

function compile(home: string, to: string, paths: Record<string, string[]>): void {
  const config = join(to, "tsconfig.json");
  const options = { noEmit: false, declaration: true, rewriteRelativeImportExtensions: true, outDir: join(to, "src") };
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        ...options,
        rootDir: join(home, "src"),
        paths,
        typeRoots: [join(root, "node_modules/@types")],
      },
      include: [join(home, "src")],
    }),
  );
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", config], {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${home} does not build:\n${stdout}`);
  rmSync(config);
}

function built(source: string, ending: ".js" | ".d.ts"): string {
  return source.replace(/\.ts$/, ending);
}

/** The manifest as it is published: faces and programs are the built ones, what only we need is gone. */
function packed({ exports: faces = {}, bin = {}, devDependencies: _, ...rest }: Manifest): Manifest {
  const named = Object.entries(faces).map(([face, source]) => [
    face,
    { types: built(source, ".d.ts"), default: built(source, ".js") },
  ]);
  const programs = Object.entries(bin).map(([name, source]) => [name, built(source, ".js")]);
  return {
    ...rest,
    files: ["src", "bin", "README.md", "LICENSE"],
    ...(named.length > 0 ? { exports: Object.fromEntries(named) as Record<string, string> } : {}),
    ...(programs.length > 0 ? { bin: Object.fromEntries(programs) as Record<string, string> } : {}),
  };
}

function copyFiles(name: (typeof published)[number], home: string, to: string): void {
  cpSync(join(root, "LICENSE"), join(to, "LICENSE"));
  const own = join(home, "README.md");
  cpSync(existsSync(own) ? own : join(root, "README.md"), join(to, "README.md"));
  if (name !== "cli") return;
  mkdirSync(join(to, "bin"), { recursive: true });
  const start = readFileSync(join(home, "bin/pawl.js"), "utf8");
  writeFileSync(join(to, "bin/pawl.js"), start.replace("../src/main.ts", "../src/main.js"), { mode: 0o755 });
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? "dist");
  build(folder);
  console.log(`${published.join(", ")} are in ${folder}; \`npm publish\` in each publishes it`);
}
