/** A script that is none: where, what was seen there, and what is allowed. */
export class ScriptError extends Error {
  readonly code = "SCRIPT_INVALID";
  /** `script[0].steps[2].input` */
  readonly path: string;

  constructor(path: string, seen: string, allowed: string) {
    super(`${path}: ${seen}; allowed: ${allowed}`);
    this.name = "ScriptError";
    this.path = path;
  }
}

/** Throws a `ScriptError` unless the value has the shape. */
export type Shape = (value: unknown, path: string) => void;

/** The value as it will be shown in an error: short, and undefined too. */
export function seen(value: unknown): string {
  const text = typeof value === "function" ? "a function" : (JSON.stringify(value) ?? String(value));
  return `got ${text.length > 80 ? `${text.slice(0, 77)}...` : text}`;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A shape by its test and its name in errors. */
export function shape(allowed: string, holds: (value: unknown) => boolean): Shape {
  return (value, path) => {
    if (!holds(value)) throw new ScriptError(path, seen(value), allowed);
  };
}

export const text = shape("a string", (value) => typeof value === "string");
export const yes = shape("true", (value) => value === true);
export const flag = shape("true or false", (value) => typeof value === "boolean");
export const count = shape("a whole number, 0 or more", (value) => Number.isInteger(value) && Number(value) >= 0);
export const positive = shape("a whole number, 1 or more", (value) => Number.isInteger(value) && Number(value) >= 1);

/** Object with these fields, of which `needed` must be there. Others are refused: a typing error must not pass. */
export function fields(allowed: Readonly<Record<string, Shape>>, needed: readonly string[] = []): Shape {
  const names = Object.keys(allowed).join(", ");
  return (value, path) => {
    if (!isObject(value)) throw new ScriptError(path, seen(value), `an object with ${names}`);
    for (const name of needed) {
      if (value[name] === undefined)
        throw new ScriptError(path, `"${name}" is missing in ${seen(value).slice(4)}`, names);
    }
    for (const [name, inner] of Object.entries(value)) {
      const check = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
      if (check === undefined) throw new ScriptError(`${path}.${name}`, `unknown field "${name}"`, names);
      if (inner !== undefined) check(inner, `${path}.${name}`);
    }
  };
}

export function list(each: Shape, allowed: string): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) throw new ScriptError(path, seen(value), allowed);
    for (const [at, inner] of value.entries()) each(inner, `${path}[${at}]`);
  };
}
