/**
 * Patterns over texts, paths and shell commands. Pure, and in time proportional to pattern and text: what is matched
 * comes from a model.
 *
 * `*` is any run of characters, `?` is one. In a path neither crosses `/`; `**` does, and a leading or inner `**` with
 * its slash also stands for no folder at all.
 */

type Token = { any: "characters" | "name" | "folders" } | { one: string };

/** How the text of an input field is read. A name that says nothing is plain text. */
export type Reading = "text" | "path" | "command";

export function readingOf(field: string): Reading {
  if (/^(command|cmd|script)$/i.test(field)) return "command";
  return /(path|file|folder|dir|directory|cwd)s?$/i.test(field) ? "path" : "text";
}

export function matchesText(pattern: string, text: string): boolean {
  return matches(tokensOf(pattern, "text"), text);
}

/** Both sides should be {@link plainPath}. */
export function matchesPath(pattern: string, path: string, letters: "exact" | "any-case"): boolean {
  if (letters === "exact") return matches(tokensOf(pattern, "path"), path);
  return matches(tokensOf(pattern.toLowerCase(), "path"), path.toLowerCase());
}

/** One simple command against a pattern; a pattern's trailing ` *` also stands for no argument at all. */
export function matchesCommand(pattern: string, command: string): boolean {
  const wanted = oneLine(pattern);
  if (wanted.endsWith(" *") && oneLine(command) === wanted.slice(0, -2)) return true;
  return matches(tokensOf(wanted, "text"), oneLine(command));
}

/**
 * Without `.`, `..` and doubled slashes; below `cwd` it is relative to it, else absolute, however it was spelled. Links are
 * not looked at: no pattern can.
 */
export function plainPath(path: string, cwd?: string): string {
  if (cwd?.startsWith("/") && !path.startsWith("/")) return plainPath(`${cwd}/${path}`, cwd);
  const absolute = path.startsWith("/");
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name === ".." && names.length > 0 && names.at(-1) !== "..") names.pop();
    else if (name !== ".." || !absolute) names.push(name);
  }
  const plain = (absolute ? "/" : "") + names.join("/");
  if (cwd === undefined || !absolute) return plain;
  const root = plainPath(cwd);
  if (plain === root) return "";
  const below = root === "/" ? root : `${root}/`;
  return plain.startsWith(below) ? plain.slice(below.length) : plain;
}

/** Redirections that touch nothing. */
const harmless = /\d?>&\d(?=[\s;&|)]|$)|[\d&]?>>?\s*\/dev\/null(?=[\s;&|)]|$)/g;

/**
 * The simple commands of a shell line, and the targets of its redirections. Quotes are not understood, and that errs to
 * the safe side: a sign between quotes gives one piece too many, which no pattern expects.
 */
export function commandPieces(command: string): string[] {
  const pieces = command
    .replace(harmless, " ")
    .split(/[;&|\n\r(){}<>`]/)
    .map((piece) => oneLine(piece.replace(/\$$/, "")))
    .filter((piece) => piece !== "");
  return [...new Set(pieces)];
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

function tokensOf(pattern: string, reading: "text" | "path"): Token[] {
  const tokens: Token[] = [];
  for (const part of pattern.match(/\*\*\/|\*+|[^*]/gsu) ?? []) {
    if (part === "**/" && reading === "path") tokens.push({ any: "folders" });
    else if (!part.startsWith("*")) tokens.push({ one: part });
    else if (part.endsWith("/")) tokens.push({ any: "characters" }, { one: "/" });
    else tokens.push({ any: part.length > 1 || reading === "text" ? "characters" : "name" });
  }
  return tokens;
}

/** Token by token, the set of positions that the tokens so far can have come to. */
function matches(tokens: readonly Token[], text: string): boolean {
  const characters = [...text];
  // In a path a question mark stands for one sign of a name, too; a text with slashes has no names.
  let reached = new Uint8Array(characters.length + 1);
  reached[0] = 1;
  for (const token of tokens) {
    const next = new Uint8Array(characters.length + 1);
    let running = false;
    for (let at = 0; at <= characters.length; at += 1) {
      if ("one" in token) {
        const here = token.one === "?" || characters[at] === token.one;
        // Behind the end there is no place, and nothing is kept.
        if (reached[at] && here) next[at + 1] = 1;
        continue;
      }
      const before = characters[at - 1];
      if (token.any === "name" && before === "/") running = false;
      running ||= reached[at] === 1;
      if (running) next[at] = token.any !== "folders" || reached[at] || before === "/" ? 1 : 0;
    }
    reached = next;
  }
  return reached[characters.length] === 1;
}
