#!/bin/sh
# Mastra 1.71.0, @mastra/memory 1.31.0, LibSQLStore 1.23.1: a turn is stored when it ends. If the process is
# killed in a tool, the thread is there and empty: the user's question is gone, too, also with savePerStep,
# and the agent's next prompt has nothing of it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @mastra/core@1.71.0 @mastra/memory@1.31.0 @mastra/libsql@1.23.1 ai@7.0.173 zod@4.6.5 node@24.21.0 >/dev/null 2>&1
cat >turn.mjs <<'JS'
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const memory = new Memory({ storage: new LibSQLStore({ id: "s", url: `file:${process.cwd()}/kept.db` }) });
const model = new MockLanguageModelV4({
	doGenerate: async () => ({
		content: [{ type: "tool-call", toolCallId: "t1", toolName: "work", input: "{}" }],
		finishReason: { unified: "tool-calls" },
		usage: { inputTokens: tokens, outputTokens: tokens },
		warnings: [],
	}),
});
const work = createTool({ id: "work", description: "Work.", inputSchema: z.object({}), execute: () => process.kill(process.pid, "SIGKILL") });
const agent = new Agent({ id: "a", name: "a", instructions: "Work.", model, memory, tools: { work } });
if (process.argv[2] === "ask") await agent.generate("Two nights?", { savePerStep: true, memory: { thread: "t", resource: "r" } });
const { messages } = await memory.recall({ threadId: "t", perPage: false });
console.log("thread:", (await memory.getThreadById({ threadId: "t" }))?.id, "- messages after the kill:", messages.length);
if (messages.length > 0) throw new Error("changed: the question is stored");
JS
node_modules/node/bin/node turn.mjs ask >/dev/null 2>&1 || echo "killed"
node_modules/node/bin/node turn.mjs look
