/** The rows by name. Loaded one at a time: a baseline's process must not carry what its row does not measure. */
import type { Row } from "./row.ts";

export const rows: { readonly [name: string]: () => Promise<Row> } = {
  A1: async () => (await import("./a1-delta.ts")).row,
  A2: async () => (await import("./a2-wire.ts")).row,
  A3: async () => (await import("./a3-memory.ts")).row,
  B1: async () => (await import("./b1-step.ts")).row,
  B2: async () => (await import("./b2-length.ts")).row,
  B3: async () => (await import("./b3-bytes.ts")).row,
  C1: async () => (await import("./c1-open.ts")).row,
  C1L: async () => (await import("./c1-open.ts")).length,
  C1M: async () => (await import("./c1-open.ts")).memory,
  C1R: async () => (await import("./c1-drive.ts")).row,
  C2: async () => (await import("./c2-replay.ts")).row,
  D1: async () => (await import("./d1-fork.ts")).row,
  D1L: async () => (await import("./d1-fork.ts")).length,
  D2: async () => (await import("./d2-list.ts")).row,
  D2L: async () => (await import("./d2-list.ts")).length,
  E1: async () => (await import("./e1-crowd.ts")).row,
  E1L: async () => (await import("./e1-crowd.ts")).larger,
  E2: async () => (await import("./e2-together.ts")).row,
  E3: async () => (await import("./e3-memory.ts")).row,
  F1: async () => (await import("./f1-commits.ts")).row,
  F2: async () => (await import("./f2-commit.ts")).row,
  G1: async () => (await import("./g1-start.ts")).row,
  G1F: async () => (await import("./g1-start.ts")).frame,
  G2: async () => (await import("./g2-size.ts")).row,
};
