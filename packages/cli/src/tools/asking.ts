/** What the `ask` tool tells subscribers while it waits: a view makes room for the question. */
export interface Asking {
  asks: string;
}

/** Whether the progress of a call says that its question is next. */
export function isAsking(data: unknown): data is Asking {
  return typeof (data as Partial<Asking> | null | undefined)?.asks === "string";
}
