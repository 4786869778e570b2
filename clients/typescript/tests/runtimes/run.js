// Runs the stories on any runtime. It prints what goes otherwise than it is told, as JSON.

import * as client from "../../dist/index.js";
import { differences } from "../support/contract.js";

/** @param {Record<string, import("../support/contract.js").Step[]>} stories @param {{ url: string, clientKey: string, run: string }} at */
export const run = (stories, at) => differences(/** @type {any} */ (client), stories, at);
