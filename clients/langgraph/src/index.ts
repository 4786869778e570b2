// What the package offers.

export { ForkloreSaver, type SaverOptions } from "./saver.ts";
