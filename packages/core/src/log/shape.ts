/**
 * Small validators over plain JSON, tied to the types they check: a shape that forgets a field of its type does not
 * compile.
 *
 * `problem` is what is wrong, beginning with where inside the value: paths are put together on the way out, since nearly
 * every value of nearly every log has nothing wrong with it.
 */
import { limit } from "../limit.ts";

export type Shape<T> = {
  readonly problem: (value: unknown) => string | undefined;
  /** Undefined, or what is wrong and where. `path` is what the value is called. */
  readonly check: (value: unknown, path: string) => string | undefined;
  readonly of?: T;
};

type Fields<T> = { [K in keyof T]-?: undefined extends T[K] ? Optional<Exclude<T[K], undefined>> : Shape<T[K]> };
type Optional<T> = Shape<T> & { readonly optional: true };

function shapeOf<T>(problem: Shape<T>["problem"]): Shape<T> {
  return {
    problem,
    check(value, path) {
      const found = problem(value);
      return found === undefined ? undefined : path + found;
    },
  };
}

/** Shows a value in a message without pouring it out. */
export function seen(value: unknown): string {
  const text = textOf(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // A bigint, a cycle, a depth without end.
    return typeof value === "bigint" ? `${value}n` : `a ${typeof value} that is no JSON`;
  }
}

function shape<T>(what: string, test: (value: unknown) => boolean): Shape<T> {
  return shapeOf((value) => (test(value) ? undefined : ` must be ${what}, is ${seen(value)}`));
}

export const string = shape<string>("a string", (value) => typeof value === "string");
export const boolean = shape<boolean>("true or false", (value) => typeof value === "boolean");
export const count = shape<number>(
  "a whole number of 0 or more",
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
export const amount = shape<number>(
  "a finite number of 0 or more",
  (value) => Number.isFinite(value) && Number(value) >= 0,
);
export const number = shape<number>("a finite number", (value) => Number.isFinite(value));

const idPattern = /^[A-Za-z0-9_-]{1,64}$/;
/** Whether a value may be an id: of sessions, turns, steps, attempts, calls and posts. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && idPattern.test(value);
}
/**
 * Sessions of tasks are called so. Whoever drives the call that gave the task drives them, with the agent that it was given to:
 * as work they are offered to nobody.
 */
export const taskPrefix = "task_";

export const id = shape<string>("an id of 1 to 64 characters A-Z a-z 0-9 _ -", isId);

/** It is typed by a person, shown in a list, and a key of an index. */
const workspaceChars = 256;

export function isWorkspace(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= workspaceChars && value.isWellFormed();
}
const workspaceName = `a workspace of 1 to ${workspaceChars} characters`;
export const workspace = shape<string>(workspaceName, isWorkspace);

export function workspaceWords(value: unknown): string {
  return `${seen(value)} cannot be ${workspaceName}`;
}

/** Any JSON value: what would come back changed (a date, NaN, undefined in a list) is none. */
export function json<T>(): Shape<T> {
  return shape<T>("a JSON value", (value) => isJson(value));
}

/** An undefined field is as good as an absent one: that is how it is written. */
function isJson(value: unknown, depth = 0): boolean {
  if (depth > limit.jsonDepth) return false;
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      if (value === null) return true;
      if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
      return isPlain(value) && Object.values(value).every((item) => item === undefined || isJson(item, depth + 1));
    default:
      return false;
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** An object whose values are all of one shape. */
export function record<T>(inner: Shape<T>): Shape<{ [key: string]: T }> {
  return shapeOf((value) => {
    if (!isObject(value)) return ` must be an object, is ${seen(value)}`;
    for (const key of Object.keys(value)) {
      const problem = inner.problem(value[key]);
      if (problem !== undefined) return `.${key}${problem}`;
    }
    return undefined;
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function oneOf<const T extends string>(...allowed: T[]): Shape<T> {
  return shape<T>(`one of ${allowed.join(", ")}`, (value) => (allowed as string[]).includes(value as string));
}

export function optional<T>(inner: Shape<T>): Optional<T> {
  const { problem } = inner;
  return { ...shapeOf<T>((value) => (value === undefined ? undefined : problem(value))), optional: true };
}

export function list<T>(inner: Shape<T>): Shape<T[]> {
  const { problem } = inner;
  return shapeOf((value) => {
    if (!Array.isArray(value)) return ` must be a list, is ${seen(value)}`;
    for (let index = 0; index < value.length; index += 1) {
      const found = problem(value[index]);
      if (found !== undefined) return `[${index}]${found}`;
    }
    return undefined;
  });
}

/** Extra fields pass: a later version of the same type may add what older readers need not know. */
export function object<T>(fields: Fields<T>): Shape<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  const inner = names.map((name) => ({ name, problem: fields[name].problem }));
  return shapeOf((value) => {
    if (!isObject(value)) return ` must be an object, is ${seen(value)}`;
    for (const { name, problem } of inner) {
      const found = problem(value[name]);
      if (found !== undefined) return `.${name}${found}`;
    }
    return undefined;
  });
}

/** A union told apart by one field. */
export function tagged<T extends { [K in Tag]: string }, Tag extends string>(
  tag: Tag,
  variants: { [V in T[Tag]]: Shape<Omit<Extract<T, { [K in Tag]: V }>, Tag>> },
): Shape<T> {
  return shapeOf((value) => {
    const key = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[tag] : undefined;
    if (typeof key !== "string" || !Object.hasOwn(variants, key)) {
      return `.${tag} must be one of ${Object.keys(variants).join(", ")}, is ${seen(key)}`;
    }
    return variants[key as T[Tag]].problem(value);
  });
}
