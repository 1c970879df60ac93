/**
 * What a terminal sends, as keys, text and pastes. Pure: a stream may be cut anywhere, what is not whole yet is kept.
 *
 * Understands the classic sequences, and what terminals send that tell Shift-Enter from Enter (CSI u, modifyOtherKeys).
 * It switches none of that on: a killed process could not switch it off again, and a shell would get keys it does not know.
 */

export type Key =
  | { type: "text"; text: string }
  | { type: "paste"; text: string }
  | { type: "key"; name: KeyName; ctrl: boolean; alt: boolean; shift: boolean };

export type KeyName =
  | "enter"
  | "tab"
  | "escape"
  | "backspace"
  | "delete"
  | "up"
  | "down"
  | "left"
  | "right"
  | "home"
  | "end"
  | "pageup"
  | "pagedown"
  | Letter;

type Letter = "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "j" | "k" | "l" | "n" | "o" | "p" | "q" | "r" | Late;
type Late = "s" | "t" | "u" | "v" | "w" | "x" | "y" | "z";

const pasteStart = "\u001b[200~";
const pasteEnd = "\u001b[201~";
const esc = "\u001b";

const byFinal: { [final: string]: KeyName } = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  Z: "tab",
};
const byNumber: { [number: string]: KeyName } = {
  "1": "home",
  "3": "delete",
  "4": "end",
  "5": "pageup",
  "6": "pagedown",
  "7": "home",
  "8": "end",
};
const byCode: { [code: string]: KeyName } = { "9": "tab", "13": "enter", "27": "escape", "127": "backspace" };

/** One whole sequence at the start; of a lone prefix nothing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals speak in these characters
const sequence = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|O[A-Za-z])/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals speak in these characters
const prefix = /^\u001b(?:\[[0-?]*[ -/]*|O)?$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals speak in these characters
const controls = /[\u0000-\u001f\u007f\u0080-\u009f]/;

export class KeyReader {
  #held = "";

  /** Something came that may be the start of more: after a short silence it is what it looks like (`flush`). */
  get waits(): boolean {
    return this.#held !== "" && !this.#held.startsWith(pasteStart);
  }

  read(chunk: string): Key[] {
    this.#held += chunk;
    return this.#take(false);
  }

  flush(): Key[] {
    return this.waits ? this.#take(true) : [];
  }

  #take(isAll: boolean): Key[] {
    const keys: Key[] = [];
    while (this.#held !== "") {
      if (this.#held.startsWith(pasteStart)) {
        const end = this.#held.indexOf(pasteEnd);
        if (end < 0) break;
        keys.push({ type: "paste", text: this.#held.slice(pasteStart.length, end).replace(/\r\n?/g, "\n") });
        this.#held = this.#held.slice(end + pasteEnd.length);
        continue;
      }
      if (this.#held.startsWith(esc)) {
        if (!isAll && prefix.test(this.#held)) break;
        keys.push(...this.#escaped());
        continue;
      }
      const at = this.#held.search(controls);
      const text = at < 0 ? this.#held : this.#held.slice(0, at);
      if (text !== "") keys.push({ type: "text", text });
      else keys.push(...controlKey(this.#held[0] ?? "", false));
      this.#held = this.#held.slice(Math.max(1, text.length));
    }
    return keys;
  }

  #escaped(): Key[] {
    const [whole] = sequence.exec(this.#held) ?? [];
    if (whole !== undefined) {
      this.#held = this.#held.slice(whole.length);
      return sequenceKey(whole);
    }
    const next = this.#held[1];
    if (next === undefined || next === esc || (next === "[" && this.#held.length === 2)) {
      this.#held = this.#held.slice(next === "[" ? 2 : 1);
      return [key("escape")];
    }
    const [sign = ""] = this.#held.slice(1);
    this.#held = this.#held.slice(1 + sign.length);
    if (controls.test(sign)) return controlKey(sign, true);
    return /^[a-z]$/i.test(sign) ? [key(sign.toLowerCase() as KeyName, { alt: true })] : [];
  }
}

function key(name: KeyName, { ctrl = false, alt = false, shift = false } = {}): Key {
  return { type: "key", name, ctrl, alt, shift };
}

function controlKey(sign: string, alt: boolean): Key[] {
  if (sign === "\r") return [key("enter", { alt })];
  if (sign === "\n") return [key(alt ? "enter" : "j", { alt, ctrl: !alt })];
  if (sign === "\t") return [key("tab", { alt })];
  if (sign === "\u007f" || sign === "\b") return [key("backspace", { alt })];
  const code = sign.charCodeAt(0);
  if (code >= 1 && code <= 26) return [key(String.fromCharCode(96 + code) as KeyName, { ctrl: true, alt })];
  return [];
}

function modifiers(number: string | undefined) {
  const bits = Math.max(0, Number(number ?? "1") - 1);
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 };
}

function sequenceKey(whole: string): Key[] {
  const final = whole.at(-1) ?? "";
  const numbers = whole.slice(2, -1).split(";");
  const [first = "", second, third] = numbers;
  if (final === "u") return codeKey(first, second);
  if (final === "~") {
    if (first === "27" && third !== undefined) return codeKey(third, second);
    const name = byNumber[first];
    return name ? [key(name, modifiers(second))] : [];
  }
  const name = byFinal[final];
  if (!name) return [];
  return [key(name, final === "Z" ? { shift: true } : modifiers(second))];
}

function codeKey(code: string, modifier: string | undefined): Key[] {
  const name = byCode[code];
  const held = modifiers(modifier);
  if (name) return [key(name, held)];
  const sign = String.fromCodePoint(Math.min(Number(code) || 0, 0x10ffff));
  if (/^[a-z]$/.test(sign) && (held.ctrl || held.alt)) return [key(sign as KeyName, held)];
  return controls.test(sign) ? [] : [{ type: "text", text: held.shift ? sign.toUpperCase() : sign }];
}
