/** `@pawl/core/testing`: fakes, a scripted model, and the contract that every store passes. */
export { decodeAll } from "./log/codec.ts";
export { FakeEffects, fakeHolder } from "./testing/fake.ts";
export { type FaultyStore, faultyStore, type StoreFault } from "./testing/faulty-store.ts";
export {
  call,
  finish,
  type ScriptEntry,
  type ScriptedModel,
  type ScriptStep,
  say,
  scriptedModel,
  think,
} from "./testing/model.ts";
export { storeContract } from "./testing/store-contract.ts";
export { notes as noteRecords } from "./testing/store-world.ts";
