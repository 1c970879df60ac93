/** How a new input is made of old ones: by bytes, and by JSON values, since most of what is read here is lines of JSON. */
import type { Random } from "./random.ts";

/** What is longer teaches nothing that a shorter one does not, and costs its length. */
const longest = 32_768;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Some changes to `input`; `corpus` gives pieces of others, `words` what the format is made of. */
export function mutated(
  random: Random,
  input: Uint8Array,
  corpus: readonly Uint8Array[],
  words: readonly string[],
): Uint8Array {
  let bytes = input;
  const changes = random.pick([1, 1, 1, 2, 4]);
  for (let change = 0; change < changes; change += 1) {
    const byValue = random.chance(0.75) ? tried(() => valueChanged(random, bytes, random.pick(corpus))) : undefined;
    bytes = byValue ?? bytesChanged(random, bytes, random.pick(corpus), words);
  }
  return bytes.subarray(0, longest);
}

/** What earlier changes have nested too deep is no longer walked here either. */
function tried<T>(what: () => T): T | undefined {
  try {
    return what();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function bytesChanged(random: Random, bytes: Uint8Array, other: Uint8Array, words: readonly string[]): Uint8Array {
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + random.below(random.pick([1, 4, 32, 512])));
  const from = random.below(other.length + 1);
  const piece = other.subarray(from, from + random.below(random.pick([8, 64, 1_024])));
  switch (random.below(8)) {
    case 0: {
      const copy = bytes.slice();
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
      return copy;
    }
    case 1:
      return joined(bytes.subarray(0, at), new Uint8Array([random.below(256)]), bytes.subarray(at));
    case 2:
      return joined(bytes.subarray(0, at), bytes.subarray(to));
    case 3:
      return bytes.slice(0, at);
    case 4:
      return joined(bytes.subarray(0, at), piece, bytes.subarray(random.chance(0.5) ? at : to));
    case 5:
      return joined(bytes.subarray(0, to), bytes.subarray(at));
    case 6:
      return joined(
        bytes.subarray(0, at),
        encoder.encode(random.pick(odd)),
        bytes.subarray(random.chance(0.5) ? at : to),
      );
    default:
      return joined(
        bytes.subarray(0, at),
        encoder.encode(random.pick(words)),
        bytes.subarray(random.chance(0.5) ? at : to),
      );
  }
}

const odd = [
  "null",
  "{}",
  "[]",
  '""',
  "-1",
  "1e999",
  "9007199254740993",
  '"\\ud800"',
  "\u0000",
  "\r\n\r\n",
  "\ufeff",
  "[".repeat(300),
];

/** One line of it as JSON, with one value in it changed. Undefined: there is none. */
function valueChanged(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array | undefined {
  const lines = decoder.decode(bytes).split("\n");
  // What stands first says what all the rest is.
  const at = random.chance(0.2) ? 0 : random.below(lines.length);
  if (lines.length > 1 && random.chance(0.15)) return encoder.encode(reordered(random, lines, other).join("\n"));
  const [, before = "", text = ""] = /^([^{[]*)(.*)$/s.exec(lines[at] ?? "") ?? [];
  const value = parsed(text);
  if (value === undefined) return undefined;
  const places = placesIn(value);
  const place = random.pick([...places, { holder: undefined, key: "" }]);
  const changed = place.holder ? value : replacement(random, value, other);
  if (place.holder) change(random, place.holder, place.key, other);
  lines[at] = before + JSON.stringify(changed);
  return encoder.encode(lines.join("\n"));
}

/** A line again, elsewhere, away, or one of another input. */
function reordered(random: Random, lines: string[], other: Uint8Array): string[] {
  const [line = ""] = lines.splice(random.below(lines.length), random.chance(0.5) ? 1 : 0);
  const from = random.chance(0.3) ? random.pick(decoder.decode(other).split("\n")) : line;
  if (random.chance(0.7)) lines.splice(random.below(lines.length + 1), 0, from);
  return lines;
}

type Holder = Record<string, unknown> | unknown[];
type Place = { holder: Holder | undefined; key: string };

function placesIn(value: unknown, places: Place[] = []): Place[] {
  if (typeof value !== "object" || value === null || places.length > 2_000) return places;
  for (const key of Object.keys(value)) {
    places.push({ holder: value as Holder, key });
    placesIn((value as Record<string, unknown>)[key], places);
  }
  return places;
}

function change(random: Random, holder: Holder, key: string, other: Uint8Array): void {
  const fields = holder as Record<string, unknown>;
  switch (random.below(5)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete fields[key];
      return;
    case 1:
      if (Array.isArray(holder)) holder.push(structuredClone(holder[Number(key)]));
      else
        fields[random.pick(["__proto__", "constructor", "", "type", "toString", key])] = structuredClone(fields[key]);
      return;
    default:
      fields[key] = replacement(random, fields[key], other);
  }
}

function replacement(random: Random, value: unknown, other: Uint8Array): unknown {
  switch (random.below(10)) {
    case 0:
      return random.pick([null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, "", " ", "\ud800", "__proto__", [], {}]);
    case 1:
      return [value];
    case 2:
      return { type: value };
    case 3:
      return deep(random.pick([20, 900, 4_000]), random.chance(0.5));
    case 4:
      return "x".repeat(random.pick([65, 1_000, 9_000]));
    case 5:
      return typeof value === "number" ? value + random.pick([1, -1, 2 ** 31, 0.5]) : JSON.stringify(value ?? "");
    case 6:
      return typeof value === "string"
        ? value.slice(0, random.below(value.length + 1))
        : (JSON.stringify(value) ?? null);
    default: {
      // A value from elsewhere of the corpus, which fits more often than one that is made up.
      const from = parsed(/[{[].*/.exec(decoder.decode(other))?.[0] ?? "");
      const places = placesIn(from);
      if (places.length === 0) return value;
      const { holder, key } = random.pick(places);
      return structuredClone((holder as Record<string, unknown>)[key]);
    }
  }
}

function deep(levels: number, asList: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = asList ? [value] : { a: value };
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function joined(...pieces: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}
