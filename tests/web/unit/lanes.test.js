import assert from "node:assert/strict";
import { test } from "node:test";

import { beside, layOut, pathOf, rowsOf, shows } from "../../../web/domain/lanes.js";

/** The time of a tick; ids that begin with it sort by time. @param {number} tick */
const at = (tick) => new Date(Date.UTC(2026, 0, 1) + tick).toISOString();

/** @param {number} tick */
const entryId = (tick) => `e${String(tick).padStart(6, "0")}`;

/** A tree as the service tells of it, one tick an event. */
class Tree {
	constructor() {
		this.tick = 0;
		/** @type {Map<string, Fork>} */
		this.forks = new Map();
		/** @type {Dot[]} */
		this.dots = [];
		this.isWhole = true;
		/** The last entry that each branch shows, also those that were deleted. @type {Map<string, string | null>} */
		this.ends = new Map();
	}

	/**
	 * @param {string} id
	 * @param {{after?: string | null, isCurrent?: boolean, title?: string}} [how] after: an entry, null for none
	 */
	branch(id, { after = null, isCurrent = false, title = id } = {}) {
		const createdAt = at(++this.tick);
		this.forks.set(id, { conversationId: id, title, lastEntryId: after, isCurrent, createdAt });
		this.ends.set(id, after);
		return this;
	}

	/**
	 * Return the id of a new entry.
	 * @param {string} conversationId
	 */
	append(conversationId) {
		const id = entryId(++this.tick);
		const parentId = this.ends.get(conversationId) ?? null;
		const createdAt = at(this.tick);
		this.dots.push({ id, conversationId, parentId, userId: "ann", createdAt, role: "user", line: id });
		this.ends.set(conversationId, id);
		return id;
	}

	/** The tree as it is while only its newest entries are loaded. @param {number} count */
	newest(count) {
		return { forks: this.forks, dots: this.dots.slice(-count), isWhole: count >= this.dots.length };
	}
}

/** @param {Picture} picture */
const drawn = ({ rows, branches }) =>
	Object.fromEntries(
		[...branches].map(([id, { lane, join, rows: own }]) => [
			id,
			{ lane, own, join: rows[join]?.key ?? join },
		]),
	);

/** @param {Picture} picture @param {string} id */
const branchOf = (picture, id) => {
	const branch = picture.branches.get(id);
	assert.ok(branch, id);
	return branch;
};

/** @param {Picture} picture @param {string} id */
const viewOf = (picture, id) =>
	rowsOf(pathOf(picture, branchOf(picture, id))).map((row) => picture.rows[row].key);

test("a branch joins the entry that its first one goes on after, or its last one if it has none of its own", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	const [one, two] = [tree.append("root"), tree.append("root")];
	tree.branch("fork", { after: two });
	const three = tree.append("fork");
	tree.branch("other", { after: one });
	const four = tree.append("other");
	tree.branch("empty", { after: two });
	tree.branch("blank");
	const five = tree.append("blank");

	const picture = layOut(tree);

	assert.deepEqual(
		picture.rows.map(({ key }) => key),
		[five, "#empty", four, three, two, one],
	);
	assert.deepEqual(drawn(picture), {
		blank: { lane: 1, own: [0], join: -1 },
		empty: { lane: 1, own: [1], join: two },
		other: { lane: 2, own: [2], join: one },
		fork: { lane: 3, own: [3], join: two },
		root: { lane: 0, own: [4, 5], join: -1 },
	});
});

test("a branch whose last entry is news that did not come yet joins nothing", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	tree.append("root");
	tree.branch("fork", { after: entryId(++tree.tick) });

	assert.equal(drawn(layOut(tree)).fork.join, -1);
});

test("a branch without own entries has a hollow row at its time, and none once it has an entry", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	const one = tree.append("root");
	tree.branch("empty", { after: one });
	const two = tree.append("root");

	assert.deepEqual(
		layOut(tree).rows.map(({ key }) => key),
		[two, "#empty", one],
	);
	const mine = tree.append("empty");
	assert.deepEqual(
		layOut(tree).rows.map(({ key }) => key),
		[mine, two, one],
	);
});

test("a tree without entries has the hollow row of its root", () => {
	const picture = layOut(new Tree().branch("root", { isCurrent: true }));

	assert.deepEqual(
		picture.rows.map(({ key, dot }) => [key, dot]),
		[["#root", null]],
	);
	assert.equal(picture.lanes, 1);
});

test("the current branch has lane 0, and its source takes over the lane where it ends", () => {
	const tree = new Tree().branch("root");
	const [, two] = [tree.append("root"), tree.append("root")];
	tree.branch("fork", { after: two, isCurrent: true });
	tree.append("fork");
	tree.branch("side", { after: two });
	tree.append("side");

	const picture = layOut(tree);

	assert.deepEqual(
		["side", "fork", "root"].map((id) => branchOf(picture, id).lane),
		[1, 0, 0],
	);
	assert.notEqual(branchOf(picture, "fork").colour, branchOf(picture, "root").colour);
});

test("a lane is used again below the join of a branch", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	for (const id of ["a", "b", "c"]) {
		tree.branch(id, { after: tree.append("root") });
		tree.append(id);
	}
	tree.append("root");

	const picture = layOut(tree);

	assert.deepEqual(
		["a", "b", "c"].map((id) => branchOf(picture, id).lane),
		[1, 1, 1],
	);
	assert.equal(picture.lanes, 2);
});

test("a deleted branch is drawn as far as others show it", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	const one = tree.append("root");
	tree.branch("gone", { after: one });
	const two = tree.append("gone");
	tree.branch("heir", { after: two });
	const three = tree.append("heir");
	tree.forks.delete("gone");

	const picture = layOut(tree);
	const gone = branchOf(picture, "gone");

	assert.deepEqual([gone.isRemoved, gone.label, drawn(picture).gone.join], [true, "deleted branch", one]);
	assert.deepEqual(viewOf(picture, "heir"), [three, two, one]);
});

test("branches with one title are told apart by the ends of their ids", () => {
	const tree = new Tree().branch("r-0001", { title: "Trip", isCurrent: true });
	const one = tree.append("r-0001");
	tree.branch("r-0002", { title: "Trip", after: one });
	tree.branch("r-0003", { title: "Lisbon", after: one });

	const labels = [...layOut(tree).branches.values()].map(({ label }) => label);

	assert.deepEqual(labels.sort(), ["Lisbon", "Trip 0001", "Trip 0002"]);
});

test("a branch shows its own entries, then what it inherits, and nothing else", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	const [one, two] = [tree.append("root"), tree.append("root")];
	tree.branch("fork", { after: one });
	const mine = tree.append("fork");
	const later = tree.append("root");
	tree.branch("empty", { after: mine });
	const picture = layOut(tree);

	assert.deepEqual(viewOf(picture, "root"), [later, two, one]);
	assert.deepEqual(viewOf(picture, "empty"), ["#empty", mine, one]);
	const path = pathOf(picture, branchOf(picture, "empty"));
	const shown = picture.rows.filter((_, row) => shows(path, row, picture)).map(({ key }) => key);
	assert.deepEqual(shown, viewOf(picture, "empty"));
});

test("the row beside is the nearest one of the next lane", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	const one = tree.append("root");
	tree.branch("fork", { after: one });
	const [mine] = [tree.append("fork"), tree.append("fork")];
	const picture = layOut(tree);
	const row = picture.rowOf.get(one) ?? -1;

	assert.equal(beside(picture, row, 1), picture.rowOf.get(mine));
	assert.equal(beside(picture, 0, -1), row);
	assert.equal(beside(picture, row, -1), undefined);
	assert.equal(beside(picture, 0, 1), undefined);
});

test("what is not loaded yet is below: lines run down to it, and no branch is taken for an empty one", () => {
	const tree = new Tree().branch("root", { isCurrent: true });
	const one = tree.append("root");
	tree.branch("old", { after: one });
	tree.append("old");
	tree.branch("fork", { after: one });
	tree.append("root");
	tree.append("fork");
	tree.branch("empty", { after: one });

	assert.deepEqual(drawn(layOut(tree.newest(2))), {
		empty: { lane: 1, own: [0], join: 3 },
		fork: { lane: 2, own: [1], join: 3 },
		root: { lane: 0, own: [2], join: 3 },
	});
});

/**
 * A random tree, and what each of its branches shows, the oldest first.
 * @param {number} branches
 * @param {number} entries
 * @param {number} seed
 * @param {boolean} [isJoined] every fork goes on after an entry
 */
function randomTree(branches, entries, seed, isJoined = false) {
	let state = seed;
	/** @param {number} below */
	const draw = (below) => (state = (state * 48271) % 2147483647) % below;
	const tree = new Tree().branch("b0");
	/** @type {Map<string, string[]>} */
	const views = new Map([["b0", []]]);
	const ids = ["b0"];
	for (let made = 0; made < entries; made++) {
		const source = ids[draw(ids.length)];
		const view = views.get(source) ?? [];
		const place = draw(view.length + 1);
		const isPlain = isJoined ? place > 0 && place < view.length : draw(10) > 0;
		if (ids.length < branches && draw(entries) < branches * 2 && (isPlain || !isJoined)) {
			const id = `b${ids.length}`;
			const shown = isPlain ? view.slice(0, place) : [];
			tree.branch(id, { after: shown.at(-1) });
			views.set(id, shown);
			ids.push(id);
		}
		const owner = ids[draw(ids.length)];
		views.get(owner)?.push(tree.append(owner));
	}
	const current = tree.forks.get(ids[draw(ids.length)]);
	if (current) current.isCurrent = true;
	return { tree, views };
}

test("in random trees each branch shows what the service shows, and no two lines share a place", () => {
	for (let seed = 1; seed <= 60; seed++) {
		const { tree, views } = randomTree(1 + (seed % 20), 5 * seed, seed);
		const picture = layOut(tree);
		for (const [id, view] of views) {
			const shown = viewOf(picture, id).filter((key) => !key.startsWith("#"));
			assert.deepEqual(shown, view.toReversed(), `seed ${seed}, branch ${id}`);
		}
		const taken = new Map();
		for (const { id, lane, rows, join } of picture.branches.values()) {
			for (let row = rows[0]; row < Math.max(join, rows[rows.length - 1] + 1); row++) {
				const place = `${lane}:${row}`;
				assert.ok(!taken.has(place), `seed ${seed}: ${id} and ${taken.get(place)} at ${place}`);
				taken.set(place, id);
			}
		}
	}
});

test("older pages change nothing of what is drawn above them", () => {
	for (let seed = 1; seed <= 40; seed++) {
		const { tree } = randomTree(1 + (seed % 15), 100, seed, true);
		const whole = layOut(tree);
		for (const count of [1, 10, 37, 80, 99]) {
			const picture = layOut(tree.newest(count));
			const end = picture.rows.length;
			/** @param {Picture} one */
			const above = ({ rows }) =>
				rows
					.slice(0, end)
					.map(({ key, branch: { id, lane, colour, join } }) => [
						key,
						id,
						lane,
						colour,
						join < end ? join : end,
					]);
			/** The root goes on below, which only the whole tree does not say with its join. */
			const told = above(whole).map((row) => (row[1] === "b0" ? [...row.slice(0, 4), end] : row));
			assert.deepEqual(above(picture), told, `seed ${seed}, ${count} of the entries`);
		}
	}
});

test("10,000 entries in 1,000 branches are laid out in 60 ms of the processor", () => {
	const { tree } = randomTree(1000, 10000, 7);
	layOut(tree);
	const times = [1, 2, 3, 4, 5].map(() => {
		const began = process.cpuUsage();
		layOut(tree);
		return process.cpuUsage(began).user / 1000;
	});

	assert.ok(Math.min(...times) < 60, String(times));
});
