import { mergeConfig } from "vitest/config";

import usual from "../../typescript/tests/vitest.config.ts";

/** LangGraph's own tests take vitest's functions from the global scope. */
export default mergeConfig(usual, {
	test: { globals: true, server: { deps: { inline: [/langgraph-checkpoint-validation/] } } },
});
