/**
 * JSON as people write it: comments and a trailing comma are allowed; a key twice is not, since people read the first and
 * programs take the last.
 *
 * Owns: the text, where in it something stands, and how it is shown. Does not own: what a file may say (see schema).
 * Invariants: an error names file, line and column, in one line; what may be a secret is never shown.
 */
import { PawlError } from "@pawl/core";
import {
  createScanner,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  type SyntaxKind,
} from "jsonc-parser";
import { printable, seenText } from "../style.ts";

/** Far above what anybody writes; a reader that calls itself comes to its end at some thousands. */
const depth = 100;
const shownChars = 80;
const lineChars = 200;

export class JsonText {
  readonly #text: string;
  readonly #path: string;

  /** `path` is where it comes from: only words. */
  constructor(text: string, path: string) {
    this.#text = text.replace(/^\uFEFF/, "");
    this.#path = path;
  }

  /** Undefined where there are comments alone. Fails with INVALID_INPUT. */
  tree(): Node | undefined {
    const deep = tooDeep(this.#text);
    if (deep !== undefined) throw this.refusal(deep, "lists and objects are nested too deep; nothing here needs that");
    const errors: ParseError[] = [];
    const root = parseTree(this.#text, errors, { allowTrailingComma: true, allowEmptyContent: true });
    const [error] = errors;
    if (error) throw this.refusal(error.offset, syntaxWords(error));
    if (root === undefined) return undefined;
    const odd = keyIn(root, ({ value }) => value === "__proto__");
    // As a key of an object it would not be one: what it holds would count as said.
    if (odd) throw this.refusal(odd.offset, '"__proto__" is no key of a configuration; leave it out');
    const twice = repeatedKey(root);
    if (twice)
      throw this.refusal(twice.offset, `${seenText(String(twice.value))} stands here a second time; keep one of them`);
    return root;
  }

  refusal(offset: number, what: string): PawlError {
    return new PawlError("INVALID_INPUT", `${this.#path}:${placeOf(this.#text, offset)}: ${what}`);
  }

  /** The value at a node, for a person: what it holds inside is not told, nor what stands where secrets do. */
  shown(node: Node, place: readonly PropertyKey[]): string {
    if (node.type === "array") return node.children?.length ? "[…]" : "[]";
    if (node.type === "object") return node.children?.length ? "{…}" : "{}";
    if (node.type === "string") {
      const text = String(node.value);
      return mayBeSecret(text, place) ? '"…" (not shown: it may be secret)' : seenText(text);
    }
    // As it was written: 1e999 is no number once it is read.
    const written = this.#text.slice(node.offset, node.offset + node.length);
    return written.length > shownChars ? `${written.slice(0, shownChars)}…` : written;
  }
}

/** `mcpServers.files.url`, as it can be shown. */
export function placeName(place: readonly PropertyKey[]): string {
  return oneLine(place.map(String).join("."));
}

export function oneLine(text: string): string {
  const line = printable(text).replaceAll(/\s/g, " ");
  return line.length > lineChars ? `${line.slice(0, lineChars)}…` : line;
}

/** Where keys stand; also where the name of a variable belongs and a key is what people write by mistake. */
const secretPlaces = new Set<PropertyKey>(["headers", "env", "args", "options", "apiKeyEnv", "keyEnv"]);
const addresses = new Set<PropertyKey>(["baseUrl", "url", "store"]);

function mayBeSecret(text: string, place: readonly PropertyKey[]): boolean {
  if (place.some((name) => secretPlaces.has(name))) return true;
  // A password in an address, also in one that is none.
  return place.some((name) => addresses.has(name)) && /[@?#]/.test(text);
}

// The library's own names for tokens exist for the compiler alone.
const opening: readonly SyntaxKind[] = [1, 3];
const closing: readonly SyntaxKind[] = [2, 4];
const end: SyntaxKind = 17;

/** Where it becomes so. */
function tooDeep(text: string): number | undefined {
  const scanner = createScanner(text, true);
  let level = 0;
  for (let token = scanner.scan(); token !== end; token = scanner.scan()) {
    if (opening.includes(token)) level += 1;
    else if (closing.includes(token)) level -= 1;
    if (level > depth) return scanner.getTokenOffset();
  }
  return undefined;
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

/** Nothing of the text: what stands at the place may be a key without its quotation marks. */
const syntax: { [code: string]: string } = {
  CommaExpected: "a comma is missing before this",
  ColonExpected: "a colon is missing before this",
  PropertyNameExpected: 'a name in "double quotes" is expected here',
  ValueExpected: "a value is expected here",
  CloseBraceExpected: "a } is missing here",
  CloseBracketExpected: "a ] is missing here",
  EndOfFileExpected: "there is more after the end; leave it out",
  InvalidSymbol: 'a word that is no JSON; write texts in "double quotes"',
  InvalidNumberFormat: "a number that is none; write it as 1 or 1.5",
  UnexpectedEndOfString: 'a text does not end in its line; a " is missing',
  UnexpectedEndOfComment: "a comment does not end; a */ is missing",
  UnexpectedEndOfNumber: "a number ends too soon; write it as 1 or 1.5",
  InvalidUnicode: "a \\u in a text without four digits; write it as \\u00e9",
  InvalidEscapeCharacter: "a \\ in a text with nothing known after it; write \\\\ for one",
  InvalidCharacter: "a control character in a text; write \\t or \\n",
};

function syntaxWords({ error }: ParseError): string {
  const code = printParseErrorCode(error);
  return syntax[code] ?? `it is no JSON (${code}); mend it here`;
}

/** `3:12`, both from 1, as editors count. */
function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}
