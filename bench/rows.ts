/** The rows by name. Loaded one at a time: a baseline's process must not carry what its row does not measure. */
import type { Row } from "./row.ts";

export const rows: { readonly [name: string]: () => Promise<Row> } = {
  A1: async () => (await import("./a1-delta.ts")).row,
  A2: async () => (await import("./a2-wire.ts")).row,
  A3: async () => (await import("./a3-memory.ts")).row,
  B1: async () => (await import("./b1-step.ts")).row,
  B2: async () => (await import("./b2-length.ts")).row,
  B3: async () => (await import("./b3-bytes.ts")).row,
  F1: async () => (await import("./f1-commits.ts")).row,
  F2: async () => (await import("./f2-commit.ts")).row,
};
