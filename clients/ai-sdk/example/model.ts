// A model that answers by a script; asked for a number, it counts. Put the model of a provider in its place.

import { simulateReadableStream, type LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const PAUSE_MS = 20;
const usage = {
	inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
	outputTokens: { total: 1, text: 1, reasoning: 0 },
};
let answers = 0;

export const model: LanguageModel = new MockLanguageModelV4({
	doStream: ({ prompt }) => {
		const [question] = prompt.at(-1)?.content ?? [];
		const asked = typeof question === "object" && question.type === "text" ? question.text : "";
		const count = Array.from({ length: Number(/\d+/.exec(asked) ?? 0) }, (_, at) => ` ${at + 1}`).join("");
		const words = `Answer ${++answers} to: ${asked}${count}`.split(/(?= )/);
		const stream = simulateReadableStream({
			chunkDelayInMs: PAUSE_MS,
			chunks: [
				{ type: "text-start" as const, id: "t" },
				...words.map((delta) => ({ type: "text-delta" as const, id: "t", delta })),
				{ type: "text-end" as const, id: "t" },
				{ type: "finish" as const, finishReason: { unified: "stop" as const, raw: undefined }, usage },
			],
		});
		return Promise.resolve({ stream });
	},
});
