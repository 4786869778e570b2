import assert from "node:assert/strict";
import { test } from "node:test";

import { authorOf, metricsText, shortTime, titleOf, usageText } from "../../../web/domain/words.js";

test("a time of today is an hour, of another day a day, of another year a day with its year", () => {
	const now = new Date(2026, 4, 20, 15, 0);
	const told = (/** @type {Date} */ at) => shortTime(at.toISOString(), now);

	assert.match(told(new Date(2026, 4, 20, 9, 5)), /9.05/);
	assert.match(told(new Date(2026, 4, 19, 16, 0)), /19/);
	assert.doesNotMatch(told(new Date(2026, 4, 19, 16, 0)), /2026/);
	assert.match(told(new Date(2025, 4, 20, 9, 5)), /2025/);
});

test("usage says what was counted and no more", () => {
	assert.equal(usageText(undefined), "");
	assert.equal(usageText({}), "");
	assert.equal(usageText({ inputTokens: 1310, outputTokens: 12 }), "1,310 in, 12 out");
	assert.equal(
		usageText({ inputTokens: 1, cachedInputTokens: 2, costUsd: 0.0000021 }),
		"1 in, 2 cached, $0.0000021",
	);
});

test("the sums of a conversation begin with its entries", () => {
	assert.equal(metricsText(/** @type {any} */ ({ entries: 1, inputTokens: 5 })), "1 entry, 5 in");
});

test("a conversation without a title has words in its place", () => {
	assert.deepEqual([titleOf(null), titleOf("  "), titleOf(" Trip ")], ["Untitled", "Untitled", "Trip"]);
});

test("an author is a user, with the app and the agent that wrote", () => {
	assert.equal(authorOf({ userId: "ann" }), "ann");
	assert.equal(authorOf({ userId: "ann", clientId: "planner", agentId: "a1" }), "ann by planner (a1)");
});
