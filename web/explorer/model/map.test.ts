import { expect, test } from "vitest";

import { filterOf, saysOf } from "./filter.ts";
import { forest, Growing } from "../testing/growing.ts";
import { mapOf, ticksOf, type MapOptions, type MapRow } from "./map.ts";
import { scoreOf, shapeOf } from "./shape.ts";

const rowsOf = (tree: Growing, more: Partial<MapOptions> = {}): MapRow[] =>
	mapOf(shapeOf(tree), { fits: () => true, chosen: undefined, opened: new Set(), ...more });

const drawn = (rows: MapRow[]): string[] =>
	rows.map(({ limb, folded }) => (folded ? `${folded.branches} more, best ${folded.best}` : limb.id));

const search = (): Growing => {
	const tree = new Growing().branch("root", null, { score: 0.4 });
	const one = tree.say("root", ["one"]);
	const two = tree.say("root", ["two"]);
	tree.branch("early", one, { score: 0.2 });
	tree.branch("poor", tree.say("early", ["early"], { costUsd: 0.5 }), { score: 0.1 });
	tree.branch("late", two, { score: 0.9 });
	tree.branch("good", two, { score: 0.95, names: ["best-so-far"] });
	tree.say("good", ["By night train"], { agentId: "Planner" });
	return tree;
};
const strong: MapOptions["fits"] = (limb) => (scoreOf(limb) ?? 0) >= 0.5;

test("what parts later stands higher, and of one place the better first", () => {
	const rows = rowsOf(search());

	expect(drawn(rows)).toEqual(["root", "good", "late", "early", "poor"]);
	expect(rows.map(({ parent }) => parent)).toEqual([-1, 0, 0, 0, 3]);
});

test("no line from a branch to one that goes on from it crosses the entries of another", () => {
	for (let seed = 1; seed <= 40; seed++) {
		const rows = rowsOf(forest(1 + seed, 6 * seed, seed));
		for (const [at, { limb, parent }] of rows.entries())
			if (parent >= 0)
				expect(
					rows.slice(parent + 1, at).find((between) => between.limb.start < limb.start),
					`seed ${seed}`,
				).toBeUndefined();
	}
});

test("branches of which none fits are one row with their best score, which opens; the chosen one is shown", () => {
	expect(drawn(rowsOf(search(), { fits: strong }))).toEqual(["root", "good", "late", "2 more, best 0.2"]);
	const opened = rowsOf(search(), { fits: strong, opened: new Set(["root…"]) });
	expect(drawn(opened).slice(3)).toEqual(["early", "poor"]);
	expect(drawn(rowsOf(search(), { fits: strong, chosen: "poor" }))).toContain("poor");
});

test("sorted by a column the branches stand in its order, and what has no score last", () => {
	const tree = search().branch("none", null, {});

	expect(drawn(rowsOf(tree, { sort: { by: "score", down: true } }))).toEqual([
		"good",
		"late",
		"root",
		"early",
		"poor",
		"none",
	]);
	expect(drawn(rowsOf(tree, { sort: { by: "score", down: false } })).at(-1)).toBe("none");
	expect(drawn(rowsOf(tree, { sort: { by: "costUsd", down: true } }))[0]).toBe("early");
});

test("a filter finds words, names, tags, agents and bounds, and all of them must fit", () => {
	const tree = search();
	tree.branches[3]!.tags = { verdict: "passed" };
	const found = (query: string): string[] =>
		[...shapeOf(tree).limbs.values()].filter((limb) => filterOf(query)!(limb)).map(({ id }) => id);

	expect(found("NIGHT")).toEqual(["good"]);
	expect(found("best-so")).toEqual(["good"]);
	expect(found("agent:plan")).toEqual(["good"]);
	expect(found("tag:verdict:passed")).toEqual(["late"]);
	expect(found("passed")).toEqual(["late"]);
	expect(found("score>0.5 cost<0.1")).toEqual(["good", "late"]);
	expect(found("cost>0.1")).toEqual(["early"]);
	expect(found("night cost>0.1")).toEqual([]);
	expect(filterOf("  ")).toBeUndefined();
	const line = { ...tree.lines[0]!, text: "By NIGHT train" };
	expect([saysOf("night agent:x")(line), saysOf("agent:x")({ ...line, text: "agent:x" })]).toEqual([
		true,
		false,
	]);
	expect(saysOf("failed")(line)).toBe(false);
	expect(found("failed")).toEqual([]);
	const night = tree.lines.find(({ text }) => /night/i.test(text))!;
	night.failed = true;
	expect(saysOf("failed")(night)).toBe(true);
	expect(found("failed")).toEqual(["good"]);
});

test("a scale has round numbers", () => {
	expect(ticksOf(52, 5)).toEqual([1, 20, 40]);
	expect(ticksOf(5, 6)).toEqual([1, 2, 3, 4, 5]);
	expect(ticksOf(0, 5)).toEqual([1]);
});
