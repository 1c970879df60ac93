/** `pawl config`: what holds here and whose word it is; `pawl config path`; `pawl config trust`. */
import { realpathSync } from "node:fs";
import { PawlError } from "@pawl/core";
import { configureStore } from "../configured-store.ts";
import { storeOrigin, storeWords, workspaceFolder } from "../place.ts";
import { toned, wrapped } from "../style.ts";
import { readConfigFile } from "./file.ts";
import { resolveConfig } from "./layer.ts";
import { type Loaded, loadConfig, passedOverWords } from "./load.ts";
import { projectFile, projectFolder, userFile } from "./place.ts";
import { noFile, rememberTrust, trustFile, trustIn } from "./trust.ts";
import { storeOfUser } from "./user-store.ts";
import { withoutSecrets } from "./without-secrets.ts";

const out = process.stdout;

export interface OverviewOptions {
  cwd?: string;
  json?: boolean;
}

export function showConfig({ cwd, json }: OverviewOptions): number {
  const loaded = loadConfig(workspaceFolder(cwd));
  const { passedOver, user, project } = loaded;
  configureStore(storeOfUser());
  const values = { store: storeWords(undefined), ...withoutSecrets(loaded.values) };
  const origins: Loaded["origins"] = { ...loaded.origins, store: [storeOrigin(undefined)] };
  if (json) {
    const files = { user: user.file ? user.path : null, project: project.file ? project.path : null };
    out.write(`${JSON.stringify({ values, origins, files, trust: project.trust, passedOver })}\n`);
    return 0;
  }
  const rows = Object.entries(values).flatMap(([key, value]) => {
    if (isEmpty(value)) return [];
    return [[key, JSON.stringify(value), (origins[originKey(key)] ?? ["default"]).join(", ")] as const];
  });
  const widest = Math.max(...rows.map(([key]) => key.length));
  for (const [key, value, origin] of rows)
    out.write(`${key.padEnd(widest)}  ${value}  ${toned("quiet", `(${origin})`, out)}\n`);
  out.write("\n");
  for (const { path, file } of [user, project]) out.write(toned("quiet", `${file ? "read" : "none"}  ${path}\n`, out));
  tellPassedOver(loaded);
  return 0;
}

function originKey(key: string): string {
  return key === "narrowing" ? "permissions" : key;
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every((inner) => typeof inner === "object" && isEmpty(inner));
}

function tellPassedOver(loaded: Loaded): void {
  for (const words of passedOverWords(loaded))
    process.stderr.write(`${toned("warn", wrapped(`! ${words}`, process.stderr), process.stderr)}\n`);
}

export function showPaths({ cwd, json }: OverviewOptions): number {
  // Also of a file that is wrong: whoever asks means to mend it.
  const { user, project } = { user: userFile(), project: projectFile(workspaceFolder(cwd)) };
  if (json) out.write(`${JSON.stringify({ user, project, trust: trustFile() })}\n`);
  else out.write(`user     ${user}\nproject  ${project}\ntrust    ${trustFile()}\n`);
  return 0;
}

/** The content that is there now, and no other. */
export function trustFolder(given: string | undefined, { remove, json }: { remove?: boolean; json?: boolean }): number {
  const cwd = workspaceFolder(given);
  const folder = realpathSync(projectFolder(cwd));
  if (remove) {
    rememberTrust(folder, undefined);
    tell(json, { folder, trust: "untrusted" }, `${folder} is no longer trusted.`);
    return 0;
  }
  if (folder === "/") throw new PawlError("INVALID_INPUT", "/ is the whole machine; name a project's folder");
  const file = readConfigFile(projectFile(cwd));
  const { passedOver } = resolveConfig({
    flags: {},
    project: { config: file?.config ?? {}, trusted: false },
    user: {},
  });
  const before = trustIn(folder, file?.hash ?? noFile);
  rememberTrust(folder, file?.hash ?? noFile);
  const what = file
    ? `its ${file.path} as it is now (${passedOver.join(", ") || "nothing that widens anything"})`
    : "no configuration file yet, and its provider packages";
  const words =
    before === "trusted"
      ? `${folder} was trusted already.`
      : `Trusted: ${folder}, with ${what}. A changed file asks anew.`;
  tell(json, { folder, trust: "trusted", file: file?.path ?? null, counts: passedOver }, words);
  return 0;
}

function tell(json: boolean | undefined, value: object, words: string): void {
  out.write(json ? `${JSON.stringify(value)}\n` : `${words}\n`);
}
