import { expect, test } from "vitest";

import { Growing } from "../testing/growing.ts";
import { shapeOf, type Limb } from "./shape.ts";
import type { Role } from "./types.ts";
import {
	baseOf,
	bestOf,
	csvOf,
	differing,
	jsonLinesOf,
	rowsOf,
	sorted,
	told,
	waysFrom,
	type Way,
} from "./ways.ts";

const tries = (): { tree: Growing; asked: string } => {
	const tree = new Growing().branch("main", null, { score: 0.8 });
	const asked = tree.say("main", ["Write a haiku"]);
	tree.say("main", ["first"], { costUsd: 0.3 });
	tree.branch("right", asked, { score: 1 });
	tree.say("right", ["second", "thanks", "bye"], { costUsd: 0.02 });
	tree.branch("wrong", asked, { score: 0 });
	tree.say("wrong", ["third"], { costUsd: 0.001 });
	tree.branch("blank", asked);
	return { tree, asked };
};

const ids = (ways: readonly Way[]): string[] => ways.map(({ limb }) => limb.id);

test("each way on from an entry is a branch, with what it used since, and its last words", () => {
	const { tree, asked } = tries();

	const ways = waysFrom(shapeOf(tree), asked);

	expect(ids(ways)).toEqual(["main", "right", "wrong", "blank"]);
	expect(ways[1]).toMatchObject({
		entries: 3,
		costUsd: 0.06,
		inputTokens: 30,
		seconds: 2,
		score: 1,
		last: "bye",
	});
	expect(ways[3]).toMatchObject({ entries: 0, costUsd: 0, words: "branch lank", last: "" });
	expect(ids(waysFrom(shapeOf(tree), null))).toEqual(["main"]);
	expect(waysFrom(shapeOf(tree), "unknown")).toEqual([]);
});

test("for a way whose branch is deleted stands the oldest that goes on from it", () => {
	const { tree, asked } = tries();
	tree.branch("heir", tree.say("wrong", ["more"]));
	tree.say("heir", ["and more"]);
	tree.delete("wrong");

	const [, , heir] = waysFrom(shapeOf(tree), asked);

	expect([heir?.limb.id, heir?.entries, heir?.last]).toEqual(["heir", 3, "and more"]);
});

test("ways are sorted by any measure, those without a score last", () => {
	const { tree, asked } = tries();
	const ways = waysFrom(shapeOf(tree), asked);

	expect(ids(sorted(ways, "score", true))).toEqual(["right", "main", "wrong", "blank"]);
	expect(ids(sorted(ways, "score", false))).toEqual(["wrong", "main", "right", "blank"]);
	expect(ids(sorted(ways, "costUsd", false))[0]).toBe("blank");
});

test("the cheapest is looked for among those with a good score", () => {
	const { tree, asked } = tries();

	expect(bestOf(waysFrom(shapeOf(tree), asked))).toEqual({ good: 0.9, score: 1, costUsd: 0.06, seconds: 2 });
});

test("without scores every way is good, and one way alone is not the best", () => {
	const { tree, asked } = tries();
	for (const branch of tree.branches) branch.metadata = {};
	const ways = waysFrom(shapeOf(tree), asked);

	expect(bestOf(ways)).toMatchObject({ good: undefined, score: undefined, costUsd: 0.001 });
	expect(bestOf(ways.slice(0, 1)).costUsd).toBeUndefined();
});

test("branches are the same up to the last entry that all of them show", () => {
	const { tree, asked } = tries();
	const { limbs } = shapeOf(tree.branch("other"));
	const base = (...all: string[]): string | undefined => baseOf(all.map((id): Limb => limbs.get(id)!))?.id;

	expect(base("main", "right", "wrong")).toBe(asked);
	expect(base("main", "blank")).toBe(asked);
	expect(base("main", "other")).toBeUndefined();
	expect(base("right")).toBe(tree.shown.get("right")?.at(-1));
});

const column = (text: string): { role: Role; text: string }[] =>
	text
		.split(" ")
		.filter(Boolean)
		.map((one) => ({
			role: one.startsWith("u") ? "user" : one.startsWith("tool") ? "tool" : "ai",
			text: one,
		}));

test("side by side, turns begin in one row, and answers stand beside answers", () => {
	const rows = rowsOf([
		column("u1 call1 result1 answer1 u2 answer2"),
		column("u1 answer1"),
		column("answer0 u2 end2"),
	]);

	expect(rows.map((row) => row.map((one) => one?.text ?? "-").join(" "))).toEqual([
		"u1 u1 -",
		"call1 - -",
		"result1 - -",
		"answer1 answer1 answer0",
		"u2 - u2",
		"answer2 - end2",
	]);
	expect(rowsOf([])).toEqual([]);
});

test("what a tool has returned is no answer: it stands beside what a tool has returned", () => {
	const rows = rowsOf([column("tool36 call2 tool2 answer1"), column("tool44")]);

	expect(rows.map((row) => row.map((one) => one?.text ?? "-").join(" "))).toEqual([
		"tool36 tool44",
		"call2 -",
		"tool2 -",
		"answer1 -",
	]);
});

test("what the metadata of the ways say is a column where it differs, and the score is none of it", () => {
	const { tree, asked } = tries();
	const [main, right, wrong, blank] = tree.branches;
	Object.assign(main!.metadata, { model: "big", seed: 10, same: true });
	Object.assign(right!.metadata, { model: "small", seed: 9, same: true });
	Object.assign(wrong!.metadata, { same: true });
	Object.assign(blank!.metadata, { same: true, options: { a: 1 } });
	const ways = waysFrom(shapeOf(tree), asked);

	expect(differing(ways)).toEqual(["metadata.model", "metadata.seed", "metadata.options"]);
	expect(ways.map((way) => told(way, "metadata.options"))).toEqual(["", "", "", '{"a":1}']);
	expect(ids(sorted(ways, "metadata.seed", false))).toEqual(["right", "main", "blank", "wrong"]);
	expect(ids(sorted(ways, "metadata.seed", true)).slice(0, 2)).toEqual(["main", "right"]);
});

test("a way has the title of its branch, and counts the entries in which a tool failed", () => {
	const { tree, asked } = tries();
	tree.branches[1]!.title = "My way";
	tree.branches[2]!.title = "third";
	tree.say("wrong", ["oh"], { failed: true });

	const ways = waysFrom(shapeOf(tree), asked);

	expect(ways.map(({ title }) => title)).toEqual([undefined, "My way", undefined, undefined]);
	expect(ways.map(({ failures }) => failures)).toEqual([0, 0, 1, 0]);
});

test("one may name how high a score is good", () => {
	const { tree, asked } = tries();

	expect(bestOf(waysFrom(shapeOf(tree), asked), 0)).toMatchObject({ good: 0, score: 1, costUsd: 0.001 });
	expect(bestOf(waysFrom(shapeOf(tree), asked), 2)).toMatchObject({ good: 2, costUsd: undefined });
});

test("each way is a line of JSON, with all its metadata", () => {
	const tree = new Growing().branch("main", null, { score: -1 });
	const asked = tree.say("main", ["Sum?"]);
	tree.say("main", ["Two."], { costUsd: 0.5 });
	tree.branch("other", asked, { title: "Other", tags: { a: "b" } });
	tree.branches[1]!.metadata = { model: "x", n: null };

	const ways = waysFrom(shapeOf(tree), asked);
	const [first] = ways[0]!.lines;
	const note = { conversationId: "main", userId: "ann", createdAt: "2026-01-01T00:00:00.000Z" };
	const notes = [
		{ ...note, id: "1", entryId: first!.id, score: 1 },
		{ ...note, id: "2", entryId: first!.id, text: "so" },
		{ ...note, id: "3", entryId: first!.id, score: 0 },
		{ ...note, id: "4", entryId: asked, score: 9 },
	];

	const lines = jsonLinesOf(ways, notes).split("\n");

	expect(lines.pop()).toBe("");
	expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
		{
			conversationId: "main",
			firstEntryId: first!.id,
			title: null,
			last: "Two.",
			entries: 1,
			costUsd: 0.5,
			score: -1,
			notes: [{ id: "1" }, { id: "2" }, { id: "3" }],
			notesScore: 0.5,
		},
		{
			conversationId: "other",
			title: "Other",
			score: null,
			tags: { a: "b" },
			metadata: { model: "x", n: null },
			firstEntryId: null,
			notes: [],
			notesScore: null,
		},
	]);
});

test("a table of ways is CSV in which no text is a formula", () => {
	const tree = new Growing().branch("main", null, { score: -1 });
	const asked = tree.say("main", ["Sum?"]);
	tree.say("main", ['=A1+"1"\n2'], { costUsd: 0.5 });
	tree.branch("other", asked, { title: "+A1", names: ["best", "one"], tags: { a: "b", c: "" } });
	tree.branches[1]!.metadata = { model: "-x, y" };

	const [head, ...rows] = csvOf(waysFrom(shapeOf(tree), asked)).split("\r\n");

	expect(head).toBe(
		"id,way,title,ends with,score,entries,input tokens,output tokens,cost in USD,seconds,failures,current,names,tags,metadata.model",
	);
	expect(rows).toEqual([
		`main,"'=A1+""1""\n2",,"'=A1+""1""\n2",-1,1,10,2,0.5,0,0,yes,,,`,
		`other,'+A1,'+A1,,,0,0,0,0,0,0,,best one,"a:b, c","'-x, y"`,
		"",
	]);
});
