// LangGraph's own tests of checkpointers.

import { validate } from "@langchain/langgraph-checkpoint-validation";
import { inject } from "vitest";

import { Forklore } from "@forklore/client";

import { ForkloreSaver } from "../src/index.ts";

validate({
	checkpointerName: "forklore",
	createCheckpointer: () => new ForkloreSaver(new Forklore(inject("url"), { token: crypto.randomUUID() })),
});
