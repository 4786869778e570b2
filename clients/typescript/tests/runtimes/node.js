// For Node, Bun and Deno: reads what to do from the standard input.

import { readFileSync } from "node:fs";

import { run } from "./run.js";

const { stories, at } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(await run(stories, at)));
