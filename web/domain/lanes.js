// Where each entry and each branch of a fork tree is drawn. Pure.

import { clipped } from "./message.js";
import { shortId, titleOf } from "./words.js";

export const NOWHERE = -1; // in place of a row's number
export const COLOURS = 8;
const TITLE_MAX = 60;

/** Return the picture of what is loaded of a fork tree. Older entries only add rows at the end. @param {Tree} tree */
export function layOut(tree) {
	const { forks, dots, isWhole } = tree;
	const byId = new Map(dots.map((dot) => [dot.id, dot]));
	/** @param {Fork | undefined} fork */
	const nameOf = (fork) => clipped(titleOf(fork?.title), TITLE_MAX);
	const names = new Set();
	const shared = new Set();
	for (const name of [...forks.values()].map(nameOf)) (names.has(name) ? shared : names).add(name);
	/** @type {Picture} */
	const picture = { rows: [], rowOf: new Map(), branches: new Map(), lanes: 0 };
	const { rows, rowOf, branches } = picture;

	/** Return a new branch, whose newest row comes next. @param {string} id */
	const newBranch = (id) => {
		const fork = forks.get(id);
		const name = nameOf(fork);
		const isRemoved = !fork;
		const label = isRemoved ? "deleted branch" : shared.has(name) ? `${name} ${shortId(id)}` : name;
		const isCurrent = fork?.isCurrent ?? false;
		const branch = { id, label, isCurrent, isRemoved, lane: 0, colour: 0, rows: [], join: NOWHERE };
		branches.set(id, branch);
		rowOf.set(`#${id}`, rows.length);
		return branch;
	};
	const entries = dots.map((dot) => ({ id: dot.conversationId, time: dot.createdAt, dot }));
	const newestFirst = [...entries, ...emptyOf(tree, byId)]
		.reverse()
		.sort((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0));
	for (const { id, time, dot } of newestFirst) {
		const branch = branches.get(id) ?? newBranch(id);
		const key = dot?.id ?? `#${id}`;
		branch.rows.push(rows.length);
		rowOf.set(key, rows.length);
		rows.push({ key, branch, dot, time });
	}
	const below = isWhole ? NOWHERE : rows.length; // what a whole tree does not have yet is news
	for (const branch of branches.values()) {
		const { dot } = rows[branch.rows[branch.rows.length - 1]];
		const end = dot ? dot.parentId : forks.get(branch.id)?.lastEntryId;
		branch.join = end ? (rowOf.get(end) ?? below) : NOWHERE;
	}
	picture.lanes = chooseLanes(picture, isWhole);
	return picture;
}

/** Return the row where a branch's line ends. @param {Branch} branch */
export const lastOf = ({ join, rows }) => Math.max(join, rows[rows.length - 1]);

/**
 * Give each branch the lowest lane that is free from its newest row to its join. Return the number of lanes.
 * Lane 0 belongs to the current branch, down to its join. Where a lane ends in the newest row of a branch, that
 * branch can go on in it.
 * @param {Picture} picture @param {boolean} isWhole
 */
function chooseLanes({ branches, rows }, isWhole) {
	const current = [...branches.values()].find(({ isCurrent }) => isCurrent);
	const ends = [current ? lastOf(current) : isWhole ? NOWHERE : rows.length];
	/** @type {number[]} */
	const colours = [];
	for (const branch of branches.values()) {
		let lane = 0;
		if (branch !== current) while (ends[lane] > branch.rows[0]) lane++;
		// One lane is used in two colours by turns.
		colours[lane] = colours[lane] === lane % COLOURS ? (lane + COLOURS / 2) % COLOURS : lane % COLOURS;
		ends[lane] = lastOf(branch);
		Object.assign(branch, { lane, colour: colours[lane] });
	}
	return ends.length;
}

/**
 * Return the rows of the branches that surely have no entries, the oldest first. One that is older than what is loaded
 * may have some.
 * @param {Tree} tree @param {Map<string, Dot>} byId
 */
function emptyOf({ forks, dots, isWhole }, byId) {
	const owners = new Set(dots.map((dot) => dot.conversationId));
	const since = isWhole ? "" : (dots[0]?.createdAt ?? "~");
	return [...forks.values()]
		.filter(({ conversationId: id, createdAt }) => createdAt > since && !owners.has(id))
		.map(({ conversationId: id, createdAt, lastEntryId }) => {
			const origin = byId.get(lastEntryId ?? "")?.createdAt ?? "";
			return { id, time: origin > createdAt ? origin : createdAt, dot: null }; // not below where it goes on
		});
}

/**
 * Return what a branch shows, as far as it is loaded: its own rows, then those that it inherits.
 * @type {(picture: Picture, branch: Branch | undefined) => Path}
 */
export function pathOf({ rows }, branch) {
	/** @type {Path} */
	const path = [];
	for (let top = 0; branch; branch = rows[top]?.branch) {
		path.push({ branch, top });
		if (branch.join <= top) break; // it goes on after nothing
		top = branch.join;
	}
	return path;
}

/** Return the rows of a path, the newest first. @param {Path} path */
export const rowsOf = (path) => path.flatMap(({ branch, top }) => branch.rows.filter((row) => row >= top));

/** @type {(path: Path, row: number, picture: Picture) => boolean} */
export const shows = (path, row, { rows }) =>
	path.some(({ branch, top }) => row >= top && rows[row]?.branch === branch);

/**
 * Return the nearest row in the next lane to the left (-1) or to the right (1), if there is one.
 * @type {(picture: Picture, row: number, side: -1 | 1) => number | undefined}
 */
export function beside({ rows }, row, side) {
	const lane = rows[row].branch.lane + side;
	for (let far = 1; far < rows.length; far++) {
		for (const at of [row + far, row - far]) if (rows[at]?.branch.lane === lane) return at;
	}
}
