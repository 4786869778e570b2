import assert from "node:assert/strict";
import { test } from "node:test";

import { clipped, counted, isWordsAlone, lineOf, messageOf } from "../../../web/domain/message.js";

/**
 * Return an entry of the history with this content.
 * @param {unknown} first
 * @param {object} [other]
 * @returns {any}
 */
const entry = (first, other) => ({
	channel: "history",
	contentType: "history/json",
	content: [first],
	...other,
});

test("a message has a role, a text, events and attachments, and the rest is kept", () => {
	const attachments = [{ name: "a.png" }];
	const content = { role: "AI", text: "Yes", events: [1], attachments, mood: "glad" };

	assert.deepEqual(messageOf(entry(content)), {
		role: "ai",
		text: "Yes",
		events: [1],
		attachments,
		rest: { mood: "glad" },
	});
});

test("a message of parts has their text, and keeps them", () => {
	const content = [{ type: "text", text: "What" }, { type: "image_url" }, { type: "text", text: "is it?" }];

	const found = messageOf(entry({ role: "TOOL", content }));
	assert.deepEqual([found.role, found.text, found.rest], ["tool", "What\nis it?", { content }]);
	assert.equal(isWordsAlone(entry({ role: "TOOL", content })), false);
	assert.equal(messageOf(entry({ text: "own", content })).text, "own");
});

test("a message without all that has none of it", () => {
	assert.deepEqual(messageOf(entry({})), {
		role: "other",
		text: "",
		events: [],
		attachments: [],
		rest: undefined,
	});
});

test("what is no message is shown as it is", () => {
	for (const other of [
		entry("text"),
		entry([1]),
		entry(null),
		entry({ text: "a" }, { content: [{ text: "a" }, {}] }),
		entry({ text: "a" }, { content: [] }),
		entry({ text: "a" }, { channel: "context" }),
		entry({ text: "a" }, { contentType: "historyless" }),
	]) {
		assert.deepEqual(messageOf(other).rest, other.content);
		assert.equal(messageOf(other).text, "");
	}
});

test("fields of another type than a message has them do no harm", () => {
	const { role, text, events, attachments } = messageOf(
		entry({ role: 5, text: {}, events: "many", attachments: [null, "a"] }),
	);

	assert.deepEqual([role, text, events, attachments], ["other", "", [], []]);
});

test("only what holds no more than its words can be said in other words", () => {
	assert.ok(isWordsAlone(entry({ role: "USER", text: "a" })));
	assert.ok(isWordsAlone(entry({ text: "a" })));
	const call = { type: "function_call_output", output: "a" };
	for (const other of [
		entry({ role: "AI", text: "a", events: [call] }),
		entry({ role: "USER", text: "a", attachments: [{}] }),
		entry({ role: "USER", text: "a", attachments: "odd" }),
		entry({ text: "a", item: call }),
		entry({ role: "AI", text: "" }),
		entry({ role: "AI", text: "a" }, { channel: "context" }),
		entry(undefined, { content: [], erased: true }),
	]) {
		assert.ok(!isWordsAlone(other));
	}
});

test("a line is the text with single spaces, or says what there is", () => {
	assert.equal(lineOf(entry({ text: " one\n\n two " })), "one two");
	assert.equal(lineOf(entry({ text: "x".repeat(500) }), 10), `${"x".repeat(10)}…`);
	assert.equal(lineOf(entry({ attachments: [{}, {}] })), "2 attachments");
	assert.equal(lineOf(entry({ events: [1] })), "1 event");
	assert.equal(lineOf(entry({})), "no text");
	assert.equal(lineOf(entry({ mood: "glad" })), "history/json");
});

test("no character is cut in two", () => {
	assert.equal(clipped("ab", 2), "ab");
	assert.equal(clipped("abc", 2), "ab…");
	assert.equal(clipped("a😀b", 2), "a…");
	assert.equal(clipped("a😀b", 3), "a😀…");
});

test("a number comes with its noun", () => {
	assert.equal(counted(1, "entry", "entries"), "1 entry");
	assert.equal(counted(0, "entry", "entries"), "0 entries");
	assert.equal(counted(2000, "branch", "branches"), "2,000 branches");
	assert.equal(counted(3, "event"), "3 events");
});

test("an entry whose author was erased says so, in one line as well", () => {
	const erased = { ...entry(undefined), content: [], erased: true };

	assert.equal(messageOf(erased).text, "[erased]");
	assert.equal(messageOf(erased).rest, undefined);
	assert.equal(lineOf(erased), "[erased]");
});
