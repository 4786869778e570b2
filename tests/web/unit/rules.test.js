import assert from "node:assert/strict";
import { test } from "node:test";

import { givenBy, isAtLeast, tagLine, tagsOf } from "../../../web/domain/rules.js";

/** @param {Record<string, string>} tags */
const linesOf = (tags) => Object.entries(tags).map(tagLine).join("\n");

test("tags come back from their lines as they were", () => {
	const tags = {
		kind: "travel",
		empty: "",
		url: "https://a.example:80/?q=1",
		lines: "one\ntwo",
		blanks: "  x ",
		quoted: '"y"',
		__proto: "p",
		"ends-with": ":",
	};

	assert.deepEqual({ ...tagsOf(linesOf(tags)).tags }, tags);
});

test("a tag may be called as what every object has", () => {
	const { tags, wrong } = tagsOf("__proto__:a\nconstructor:b");

	assert.equal(wrong, "");
	assert.equal(JSON.stringify(tags), '{"__proto__":"a","constructor":"b"}');
});

test("blanks around a name and a value do not count, nor do empty lines", () => {
	assert.deepEqual({ ...tagsOf("\n  kind :  travel \n\n").tags }, { kind: "travel" });
});

test("what is wrong with tags is said", () => {
	const many = Array.from({ length: 51 }, (_, index) => `t${index}:`).join("\n");

	assert.match(tagsOf("a b:c").wrong, /“a b” is no name/);
	assert.match(tagsOf(":c").wrong, /“” is no name/);
	assert.match(tagsOf(`${"n".repeat(65)}:c`).wrong, /is no name/);
	assert.match(tagsOf("a:1\na:2").wrong, /twice/);
	assert.match(tagsOf(`a:${"x".repeat(257)}`).wrong, /256/);
	assert.match(tagsOf(many).wrong, /at most 50/);
});

test("characters of a value are counted as the service counts them", () => {
	assert.equal(tagsOf(`a:${"😀".repeat(256)}`).wrong, "");
});

test("an owner gives all levels below, a manager those below, and nobody else any", () => {
	assert.deepEqual(givenBy("owner"), ["reader", "writer", "manager"]);
	assert.deepEqual(givenBy("manager"), ["reader", "writer"]);
	assert.deepEqual(givenBy("writer"), []);
	assert.deepEqual(givenBy("reader"), []);
});

test("a level includes those below it", () => {
	assert.ok(isAtLeast("manager", "writer"));
	assert.ok(isAtLeast("reader", "reader"));
	assert.ok(!isAtLeast("writer", "manager"));
});
