/** One configuration file: what it says, and where in it something is wrong. */
import { createHash } from "node:crypto";
import { readFileSync, type Stats, statSync } from "node:fs";
import { PawlError } from "@pawl/core";
import { findNodeAtLocation, getNodeValue, type Node } from "jsonc-parser";
import type { z } from "zod";
import { seenText } from "../style.ts";
import { JsonText, placeName } from "./json-text.ts";
import { type Config, configSchema } from "./schema.ts";

export interface ConfigFile {
  path: string;
  config: Config;
  /** Of its bytes: a trust in one content is none in another. */
  hash: string;
}

/** Far above what anybody writes by hand. */
const fileBytes = 1_000_000;

/** Undefined where there is none. Fails with INVALID_INPUT: file, line, column, what was seen, what to write. */
export function readConfigFile(path: string): ConfigFile | undefined {
  let bytes: Buffer;
  try {
    const { size } = regular(statSync(path), path);
    if (size > fileBytes)
      throw new PawlError("INVALID_INPUT", `${path} has ${size} bytes, more than ${fileBytes}; is it the right file?`);
    bytes = readFileSync(path);
  } catch (cause) {
    if (cause instanceof PawlError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new PawlError("INVALID_INPUT", `${path} cannot be read (${code}); make it readable, or move it away`, {
      cause,
    });
  }
  const hash = createHash("sha256").update(bytes).digest("hex");
  return { path, config: parseConfig(bytes.toString("utf8"), path), hash };
}

/** A pipe or a device would be read for ever. */
function regular(stats: Stats, path: string): Stats {
  if (stats.isFile()) return stats;
  throw new PawlError("INVALID_INPUT", `${path} is no file; put a file there, or move it away`);
}

export function parseConfig(given: string, path: string): Config {
  const text = new JsonText(given, path);
  const root = text.tree();
  // A file of comments alone says nothing.
  if (root === undefined) return {};
  const checked = configSchema.safeParse(getNodeValue(root));
  if (checked.success) return checked.data;
  const issue = deepest(checked.error.issues);
  const node = nodeAt(root, issue.path, wrongKey(issue));
  throw text.refusal(node.offset, issueWords(issue, text.shown(node, issue.path), root));
}

type Issue = z.core.$ZodIssue;

/** Of alternatives the one that came furthest: whoever wrote `{"url": 7}` did not mean a program. */
function deepest(issues: readonly Issue[]): Issue {
  const [issue] = issues;
  if (issue === undefined) throw new PawlError("BUG", "a configuration was refused without a reason");
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return issue;
  const strange = unknownToAll(issue.errors);
  if (strange) return { ...strange, path: issue.path };
  const reached = issue.errors.map((alternative) => deepest(alternative)).sort((a, b) => rank(b) - rank(a));
  const best = reached[0] ?? issue;
  return { ...best, path: [...issue.path, ...best.path] };
}

/** A key that each alternative of the value's kind refuses: a misspelled word is why another one is missing. */
function unknownToAll(alternatives: readonly (readonly Issue[])[]): Issue | undefined {
  const strange = alternatives
    .filter((issues) => !issues.some(isOfAnotherKind))
    .map((issues) => issues.find(({ path, code }) => path.length === 0 && code === "unrecognized_keys"));
  const [first, ...others] = strange;
  if (first?.code !== "unrecognized_keys") return undefined;
  const key = first.keys.find((one) =>
    others.every((other) => other?.code === "unrecognized_keys" && other.keys.includes(one)),
  );
  return key === undefined ? undefined : { ...first, keys: [key] };
}

/** A word where an object belongs, or the other way around. */
const isOfAnotherKind = ({ path, code }: Issue) => path.length === 0 && code !== "unrecognized_keys";

/** A wrong value further inside says more than a key that another alternative would have. */
function rank({ path, code }: Issue): number {
  return path.length * 2 + (code === "unrecognized_keys" ? 0 : 1);
}

const jsonName = (name: PropertyKey): string | number => (typeof name === "number" ? name : String(name));

/** Where a value is missing, what it is missing in. */
function nodeAt(root: Node, path: readonly PropertyKey[], key: string | undefined): Node {
  const names = path.map(jsonName);
  const wanted = key === undefined ? names : [...names, key];
  for (let length = wanted.length; length > 0; length -= 1) {
    const found = findNodeAtLocation(root, wanted.slice(0, length));
    // Of an unknown key the name is what is wrong, not its value.
    if (found) return length === wanted.length && key !== undefined ? (found.parent?.children?.[0] ?? found) : found;
  }
  return root;
}

/** Where the name is what is wrong, not the value. */
function wrongKey(issue: Issue): string | undefined {
  return issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
}

function issueWords(issue: Issue, seen: string, root: Node): string {
  const name = placeName(issue.path) || "the file";
  if (issue.code === "unrecognized_keys") {
    const known =
      issue.path.length === 0 ? `; known are ${Object.keys(configSchema.shape).join(", ")}` : "; leave it out";
    return `${seenText(issue.keys[0] ?? "")} is no key of ${issue.path.length === 0 ? "a configuration" : name}${known}`;
  }
  if (issue.code === "invalid_key")
    return `${seenText(String(issue.path.at(-1)))} is no name here; write ${issue.issues[0]?.message}`;
  const wanted = issue.code === "invalid_value" ? `write ${listed(issue.values)}` : lower(issue.message);
  const missing = issue.path.length > 0 && findNodeAtLocation(root, issue.path.map(jsonName)) === undefined;
  return missing ? `${name} is missing; ${wanted}` : `${name} is ${seen}; ${wanted}`;
}

function listed(values: readonly unknown[]): string {
  const words = values.map((value) => JSON.stringify(value));
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function lower(message: string): string {
  return message.startsWith("Invalid input: ")
    ? message.slice("Invalid input: ".length)
    : message.slice(0, 1).toLowerCase() + message.slice(1);
}
