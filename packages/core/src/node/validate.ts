/** Validation of bare JSON Schemas; schemas that bring their own never come here. */
import { type Schema, Validator } from "@cfworker/json-schema";
import type { Validation } from "../effects.ts";

/** Compiled validators by schema object: tools keep theirs for the life of the process. */
const validators = new WeakMap<object, Validator>();

export function validateJsonSchema(schema: unknown, value: unknown): Validation {
  if (typeof schema !== "object" || schema === null) return { ok: true, value };
  let validator = validators.get(schema);
  if (!validator) {
    validator = new Validator(schema as Schema, "7", false);
    validators.set(schema, validator);
  }
  const { valid, errors } = validator.validate(value);
  if (valid) return { ok: true, value };
  // The outermost errors only say that an inner one exists.
  const leaves = errors.filter((error) => error.keyword !== "properties" && error.keyword !== "items");
  return {
    ok: false,
    issues: (leaves.length > 0 ? leaves : errors).map(
      (error) => `${error.instanceLocation.replace(/^#\/?/, "") || "input"}: ${error.error}`,
    ),
  };
}
