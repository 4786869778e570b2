import { expect, test } from "vitest";

import { forest, Growing } from "../testing/growing.ts";
import { shapeOf, shownBy, sumOf } from "./shape.ts";

const labels = (tree: Growing): string[] => [...shapeOf(tree).limbs.values()].map(({ look }) => look.label);

test("in random trees each branch shows what the service shows", () => {
	for (let seed = 1; seed <= 60; seed++) {
		const tree = forest(1 + (seed % 20), 5 * seed, seed);
		if (seed % 3 === 0) tree.delete("b1");
		const { limbs } = shapeOf(tree);
		for (const [id, shown] of tree.shown)
			if (limbs.has(id))
				expect(
					shownBy(limbs.get(id)).map((line) => line.id),
					`seed ${seed}, ${id}`,
				).toEqual(shown);
	}
});

test("a branch is called by its own title, else by its own first words, else by a piece of its id", () => {
	const tree = new Growing().branch("root-0001", null, { title: "Trip" });
	const one = tree.say("root-0001", ["Where to?", "Porto"]);
	tree.branch("fork-0002", one, { title: "Trip" });
	tree.say("fork-0002", ["  By\n\ttrain?  "]);
	tree.branch("fork-0003", one, { title: "Lisbon" }).branch("fork-0004", one, { title: "Trip" });

	expect(labels(tree)).toEqual(["Trip", "By train?", "Lisbon", "branch 0004"]);
});

test("of branches with the same words the younger ones have a piece of their ids", () => {
	const tree = new Growing().branch("root");
	const one = tree.say("root", ["Try"]);
	for (const id of ["a-0001", "a-0002"]) {
		tree.branch(id, one);
		tree.say(id, ["Again"]);
	}

	expect(labels(tree)).toEqual(["Try", "Again", "Again · 0002"]);
});

test("a label is short, on one line, and turns no text around", () => {
	const tree = new Growing().branch("root", null, { title: `a\u202eb\n${"c".repeat(100)}` });

	expect(labels(tree)).toEqual([`a[U+202E]b ${"c".repeat(69)}…`]);
});

test("a branch has one colour, which differs from that of its source, and stays when others come and go", () => {
	const tree = forest(200, 600, 7);
	const before = shapeOf(tree);
	expect(before.limbs.get("b0")?.look.lane).toBe(0);
	for (const { after, look } of before.limbs.values())
		if (after) expect(look.lane).not.toBe(after.limb.look.lane);
	expect(new Set([...before.limbs.values()].map(({ look }) => look.lane)).size).toBe(10);

	const parent = tree.lines[3]!.id;
	tree.branches.splice(5, 1);
	tree.branch("new", parent);
	tree.say("new", ["More"]);

	for (const [id, { look }] of shapeOf(tree).limbs)
		if (id !== "new") expect(look.lane).toBe(before.limbs.get(id)?.look.lane);
});

test("a deleted branch stays as far as others show it", () => {
	const tree = new Growing().branch("root");
	tree.branch("gone", tree.say("root", ["One"]));
	tree.branch("heir", tree.say("gone", ["Two"]));
	tree.say("heir", ["Three"]);
	tree.delete("gone");

	const { limbs } = shapeOf(tree);

	expect(limbs.get("gone")?.branch).toBeUndefined();
	expect(shownBy(limbs.get("heir")).map(({ text }) => text)).toEqual(["One", "Two", "Three"]);
});

test("sums of costs end where their parts do", () => {
	const tree = new Growing().branch("root");
	tree.say("root", ["a", "b", "c"], { costUsd: 0.1 });

	expect(sumOf(tree.lines)).toMatchObject({ entries: 3, inputTokens: 30, costUsd: 0.3, seconds: 2 });
});
