// What the package offers.

export { clonedId, ForkloreMemory, ForkloreStore, type StoreOptions } from "./memory.ts";
