import type { Issued, Item } from "./issued.ts";

/**
 * The items of a responses request as the model would see them: the conversation of `previous_response_id` first,
 * and each `item_reference` replaced by the stored item. What is not stored stays as it came, for the judge to see.
 */
export function conversationOf(body: Readonly<Record<string, unknown>>, issued: Issued | undefined): readonly Item[] {
  const { input } = body;
  const previous = typeof body["previous_response_id"] === "string" ? body["previous_response_id"] : undefined;
  const before = previous === undefined ? undefined : issued?.conversation(previous);
  const given: readonly unknown[] = typeof input === "string" ? [{ role: "user", content: input }] : list(input);
  return [...(before ?? []), ...given.map((item) => resolve(item, issued))];
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function resolve(item: unknown, issued: Issued | undefined): Item {
  if (typeof item !== "object" || item === null) return {};
  const fields: Item = { ...item };
  if (fields["type"] !== "item_reference" || typeof fields["id"] !== "string") return fields;
  return issued?.item(fields["id"]) ?? fields;
}
