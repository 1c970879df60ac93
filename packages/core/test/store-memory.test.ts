import { memoryStore } from "../src/store/memory.ts";
import { storeContract } from "../src/testing/store-contract.ts";

storeContract("memory", async (world) => {
  const store = memoryStore(world);
  return { store, close: () => store.close() };
});
