/**
 * One configuration file: its text, what it says, and where in it something is wrong. Comments and a trailing comma are
 * allowed; a key twice is not, since people read the first and programs take the last.
 */
import { createHash } from "node:crypto";
import { readFileSync, type Stats, statSync } from "node:fs";
import { PawlError } from "@pawl/core";
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import type { z } from "zod";
import { seenText } from "../style.ts";
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
  return { path, config: parseConfig(bytes.toString("utf8").replace(/^\uFEFF/, ""), path), hash };
}

/** A pipe or a device would be read for ever. */
function regular(stats: Stats, path: string): Stats {
  if (stats.isFile()) return stats;
  throw new PawlError("INVALID_INPUT", `${path} is no file; put a file there, or move it away`);
}

export function parseConfig(text: string, path: string): Config {
  try {
    return parsed(text, path);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new PawlError("INVALID_INPUT", `${path}: lists and objects are nested too deep; nothing here needs that`, {
      cause,
    });
  }
}

function parsed(text: string, path: string): Config {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const fail = (offset: number, what: string): never => {
    throw new PawlError("INVALID_INPUT", `${path}:${placeOf(text, offset)}: ${what}`);
  };
  const [error] = errors;
  if (error)
    return fail(error.offset, `${syntaxWords(error)} at ${seenText(text.slice(error.offset).split("\n")[0] ?? "")}`);
  // A file of comments alone says nothing.
  if (root === undefined) return {};
  const odd = keyIn(root, ({ value }) => value === "__proto__");
  // As a key of an object it would not be one: what it holds would count as said.
  if (odd) return fail(odd.offset, '"__proto__" is no key of a configuration; leave it out');
  const twice = repeatedKey(root);
  if (twice) return fail(twice.offset, `${seenText(String(twice.value))} stands here a second time; keep one of them`);
  const checked = configSchema.safeParse(getNodeValue(root));
  if (checked.success) return checked.data;
  const issue = deepest(checked.error.issues);
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const node = nodeAt(root, issue.path, unknown);
  return fail(node.offset, issueWords(issue, node, root));
}

type Issue = z.core.$ZodIssue;

/** Of alternatives the one that came furthest: whoever wrote `{"url": 7}` did not mean a program. */
function deepest(issues: readonly Issue[]): Issue {
  const [issue] = issues;
  if (issue === undefined) throw new PawlError("BUG", "a configuration was refused without a reason");
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return issue;
  const reached = issue.errors.map((alternative) => deepest(alternative)).sort((a, b) => rank(b) - rank(a));
  const best = reached[0] ?? issue;
  return { ...best, path: [...issue.path, ...best.path] };
}

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

function issueWords(issue: Issue, node: Node, root: Node): string {
  const name = issue.path.map(String).join(".") || "the file";
  if (issue.code === "unrecognized_keys") {
    const known =
      issue.path.length === 0 ? `; known are ${Object.keys(configSchema.shape).join(", ")}` : "; leave it out";
    return `${seenText(issue.keys[0] ?? "")} is no key of ${issue.path.length === 0 ? "a configuration" : name}${known}`;
  }
  const seen = seenText(JSON.stringify(getNodeValue(node)) ?? "")
    .slice(1, -1)
    .replaceAll('\\"', '"');
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

function keyIn(node: Node, isWanted: (key: Node) => boolean): Node | undefined {
  const key = node.type === "property" ? node.children?.[0] : undefined;
  if (key && isWanted(key)) return key;
  for (const child of node.children ?? []) {
    const found = keyIn(child, isWanted);
    if (found) return found;
  }
  return undefined;
}

function repeatedKey(node: Node): Node | undefined {
  if (node.type === "object") {
    const keys = new Set<unknown>();
    for (const { children } of node.children ?? []) {
      const key = children?.[0];
      if (key && keys.has(key.value)) return key;
      keys.add(key?.value);
    }
  }
  for (const child of node.children ?? []) {
    const found = repeatedKey(child);
    if (found) return found;
  }
  return undefined;
}

const syntax: { [code: string]: string } = {
  CommaExpected: "a comma is missing",
  ColonExpected: "a colon is missing",
  PropertyNameExpected: 'a name in "double quotes" is expected',
  ValueExpected: "a value is expected",
  CloseBraceExpected: "a } is missing",
  CloseBracketExpected: "a ] is missing",
  EndOfFileExpected: "there is more after the end",
};

function syntaxWords({ error }: ParseError): string {
  const code = printParseErrorCode(error);
  return syntax[code] ?? `it is no JSON (${code})`;
}

/** `3:12`, both from 1, as editors count. */
function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}
