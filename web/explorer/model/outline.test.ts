import { expect, test } from "vitest";

import { forest, Growing } from "../testing/growing.ts";
import { outlineOf, type Outline, type OutlineOptions } from "./outline.ts";
import { shapeOf } from "./shape.ts";
import type { ConversationDetails } from "./types.ts";

const outline = (tree: Growing, more: Partial<OutlineOptions> = {}): Outline =>
	outlineOf(shapeOf(tree), {
		folds: false,
		kept: new Set(),
		toggled: new Set(),
		children: tree.children,
		...more,
	});

/** Return the rows as text: lanes as spaces, then the words. */
const drawn = ({ rows }: Outline): string[] =>
	rows.map(({ kind, lane, line, entries, branches, child }) => {
		const words = {
			entry: line?.text,
			run: `${entries} entries`,
			child: `[${child?.title}]`,
			blank: "-",
			folded: "",
		};
		return " ".repeat(lane) + (kind === "folded" ? `${branches} branches, ${entries} entries` : words[kind]);
	});

const pond = (): Growing => {
	const tree = new Growing().branch("main");
	tree.say("main", ["one"]);
	const two = tree.say("main", ["two"]);
	tree.branch("side", two);
	tree.branch("deep", tree.say("side", ["side 1"]));
	tree.say("deep", ["deep 1"]);
	tree.say("side", ["side 2"]);
	tree.branch("other", two);
	tree.say("other", ["other 1"]);
	tree.say("main", ["three"]);
	return tree;
};

test("the rows of a branch stand together below the entry that it goes on after, and lanes are used again", () => {
	expect(drawn(outline(pond()))).toEqual([
		"one",
		"two",
		" side 1",
		"  deep 1",
		" side 2",
		" other 1",
		"three",
	]);
});

test("what goes on after the end of a branch takes over its lane, however often", () => {
	const tree = new Growing().branch("b0");
	for (let at = 1; at < 50; at++) tree.branch(`b${at}`, tree.say(`b${at - 1}`, [`line ${at}`]));

	expect(outline(tree).lanes).toBe(1);
});

test("runs without forks are one row, which opens, and what must be seen stays", () => {
	const tree = new Growing().branch("main");
	tree.say(
		"main",
		Array.from({ length: 12 }, (_, at) => `line ${at}`),
	);
	const kept = new Set([tree.lines[3]!.id]);
	const folded = ["line 0", "line 1", "line 2", "line 3", "7 entries", "line 11"];

	const { rows } = outline(tree, { folds: true, kept });

	expect(drawn(outline(tree, { folds: true, kept }))).toEqual(folded);
	const opened = outline(tree, { folds: true, kept, toggled: new Set([rows[4]!.key]) });
	expect(opened.rows.length).toBe(12);
	expect(opened.rows.filter(({ run }) => run === rows[4]!.key).length).toBe(7);
});

test("a branch that is folded stands for all that goes on from it", () => {
	expect(drawn(outline(pond(), { toggled: new Set(["side"]) }))).toEqual([
		"one",
		"two",
		" 2 branches, 3 entries",
		" other 1",
		"three",
	]);
});

test("a filter leaves the branches that fit, and those that they go on from", () => {
	expect(drawn(outline(pond(), { fits: ({ id }) => id === "deep" }))).toEqual([
		"one",
		"two",
		" side 1",
		"  deep 1",
		" side 2",
		"three",
	]);
});

test("a tree that an entry started stands below it, and a branch without entries has a row", () => {
	const tree = new Growing().branch("main");
	const one = tree.say("main", ["one"]);
	tree.children.push({ id: "kid", title: "Read logs", startedByEntryId: one } as ConversationDetails);
	tree.branch("empty", one);
	tree.say("main", ["two"]);

	expect(drawn(outline(tree))).toEqual(["one", " [Read logs]", " -", "two"]);
});

test("a merge runs in a lane of its own, and the words of the rows beside it keep clear of it", () => {
	const tree = pond();
	tree.say("main", ["copy 1", "copy 2"], { copiedFromConversationId: "side" });

	const { rows, strokes, lanes } = outline(tree);

	const merges = strokes.filter(({ kind }) => kind === "merge");
	expect(merges).toMatchObject([{ from: 4, to: 7, fromLane: 1, toLane: 0, lane: 2 }]);
	expect(rows.map(({ clear }) => clear)).toEqual([0, 0, 1, 2, 1, 2, 2, 1.6, 0]);
	expect(lanes).toBe(3);
	tree.say("main", ["copy 3", "copy 4", "end"], { copiedFromConversationId: "side" });
	expect(drawn(outline(tree, { folds: true })).slice(-3)).toEqual(["copy 1", "3 entries", "end"]);
});

test("in random trees each entry has a row, and no two lines share a place", () => {
	for (let seed = 1; seed <= 60; seed++) {
		const tree = forest(1 + (seed % 30), 4 * seed, seed);
		const { rows, strokes, rowOf } = outline(tree);
		expect(rows.filter(({ kind }) => kind === "entry").length).toBe(tree.lines.length);
		const bends = strokes.filter(({ kind }) => kind === "bend");
		const ends = bends.map(({ limb }) => rowOf.get(limb.after!.line.id));
		expect(ends, `seed ${seed}`).toEqual(bends.map(({ from }) => from));
		const places = strokes
			.filter(({ kind }) => kind === "trunk")
			.flatMap(({ from, to, lane }) =>
				Array.from({ length: to - from }, (_, at) => [from + at, lane] as const),
			);
		expect(new Set(places.map(String)).size, `seed ${seed}`).toBe(places.length);
		const hidden = places.filter(([row, lane]) => lane > rows[row]!.lane);
		expect(hidden, `seed ${seed}: lines under the words of a row`).toEqual([]);
	}
});

test("the width of a tree of 300 branches follows from how deep they nest", () => {
	const tree = forest(300, 5000, 3);
	const deepest = Math.max(...[...shapeOf(tree).limbs.values()].map(({ depth }) => depth));

	expect(outline(tree, { folds: true }).lanes).toBeLessThanOrEqual(deepest + 1);
});
