// The rows and lines of a tree that is read downwards, as its conversations are: depth first.
//
// The rows of a branch stay together, just below the entry that it goes on after, one lane further to the right. What
// goes on after a branch's end takes over its lane. So the width follows from how deep branches nest.

import { grouped, leafward, type Limb, type Shape } from "./shape.ts";
import type { ConversationDetails, Line } from "./types.ts";

const RUN_MIN = 3; // so many entries become one row

export interface Row {
	/** Of an entry its id. It stays while others come and go. */
	key: string;
	kind: "entry" | "run" | "child" | "blank" | "folded";
	limb: Limb;
	lane: number;
	/** The first lane that is free for text. */
	clear: number;
	/** Whether it is the first row of its branch, or the last. */
	isFirst: boolean;
	isTip: boolean;
	line?: Line;
	/** Whether it is the first of what was merged from another branch. */
	isMerge: boolean;
	/** The tree that an entry started. */
	child?: ConversationDetails;
	/** The key of the run that it is of, if that is shown although runs are folded. */
	run?: string;
	/** How many entries it stands for, and how many branches. */
	entries: number;
	branches: number;
}

/** A line between two rows, the upper one first, in the colour of a branch. */
export interface Stroke {
	kind: "trunk" | "run" | "bend" | "merge";
	limb: Limb;
	from: number;
	to: number;
	fromLane: number;
	toLane: number;
	/** Where a merge runs downwards. */
	lane: number;
}

export interface Outline {
	rows: Row[];
	strokes: Stroke[];
	lanes: number;
	rowOf: ReadonlyMap<string, number>;
}

export interface OutlineOptions {
	/** Show runs of entries without forks as one row. */
	folds: boolean;
	/** Entries that are shown in any case. */
	kept: ReadonlySet<string>;
	/** Keys of runs that are shown, and ids of branches that are not. */
	toggled: ReadonlySet<string>;
	/** Which branches are shown, with those that they go on from; undefined: all. */
	fits?: ((limb: Limb) => boolean) | undefined;
	children: readonly ConversationDetails[];
}

/** Return the rows of a tree, and the lines between them. */
export function outlineOf(shape: Shape, { folds, kept, toggled, fits, children }: OutlineOptions): Outline {
	const { limbs } = shape;
	const rows: Row[] = [];
	const strokes: Stroke[] = [];
	const rowOf = new Map<string, number>();
	const started = grouped(children, (child) => child.startedByEntryId ?? "");
	const shown = fits && fitting(shape, fits);
	let lanes = 0;

	const add = (row: Pick<Row, "key" | "kind" | "limb" | "lane"> & Partial<Row>): void => {
		lanes = Math.max(lanes, row.lane + 1);
		rowOf.set(row.key, rows.length);
		rows.push({
			clear: row.lane,
			isFirst: false,
			isTip: false,
			isMerge: false,
			entries: 1,
			branches: 0,
			...row,
		});
	};
	const stroke = (
		kind: Stroke["kind"],
		limb: Limb,
		from: number,
		[fromLane, toLane]: [number, number],
	): void => {
		strokes.push({ kind, limb, from, to: rows.length - 1, fromLane, toLane, lane: toLane });
	};

	const emit = (limb: Limb, lane: number, source?: { row: number; lane: number }): void => {
		const { id, own } = limb;
		let last = -1; // its last row so far
		const next = (kind: "trunk" | "run"): void => {
			if (last >= 0) {
				const before = strokes.at(-1);
				const goesOn =
					kind === "trunk" && before?.kind === kind && before.limb === limb && before.to === last;
				if (goesOn) before.to = rows.length - 1;
				else stroke(kind, limb, last, [lane, lane]);
			} else if (source) stroke("bend", limb, source.row, [source.lane, lane]);
			last = rows.length - 1;
		};
		if (toggled.has(id)) {
			const below = [...leafward(limb)];
			const entries = below.reduce((sum, one) => sum + one.own.length, 0);
			add({
				key: id,
				kind: "folded",
				limb,
				lane,
				isFirst: true,
				isTip: true,
				entries,
				branches: below.length,
			});
			return next("trunk");
		}
		if (!own.length) {
			add({ key: id, kind: "blank", limb, lane, isFirst: true, isTip: true });
			return next("trunk");
		}
		const kids = grouped(
			limb.kids.filter((kid) => !shown || shown.has(kid)),
			({ after }) => after?.index ?? 0,
		);
		const merges = (index: number): boolean =>
			mergedFrom(own[index]) !== "" && mergedFrom(own[index]) !== mergedFrom(own[index - 1]);
		const stands = (index: number): boolean => {
			const line = own[index];
			const isPlain = line && !merges(index) && !kept.has(line.id) && !started.has(line.id);
			return !isPlain || index === 0 || index === own.length - 1 || kids.has(index);
		};
		let opened = { key: "", end: 0 };
		for (let index = 0; index < own.length; index++) {
			const line = own[index]!;
			let end = index;
			if (folds && index >= opened.end) while (!stands(end)) end++;
			const key = `${line.id}…`;
			const isRun = end - index >= RUN_MIN;
			if (isRun && toggled.has(key)) opened = { key, end };
			else if (isRun) {
				add({ key, kind: "run", limb, lane, line, entries: end - index });
				next("run");
				index = end - 1;
				continue;
			}
			const run = index < opened.end ? { run: opened.key } : {};
			add({
				key: line.id,
				kind: "entry",
				limb,
				lane,
				line,
				isFirst: index === 0,
				isTip: index === own.length - 1,
				isMerge: merges(index),
				...run,
			});
			next(rows[last]?.kind === "run" ? "run" : "trunk");
			const row = last;
			for (const child of started.get(line.id) ?? [])
				add({ key: `${line.id} ${child.id}`, kind: "child", limb, lane: lane + 1, child });
			const all = kids.get(index) ?? [];
			for (const kid of all) {
				const takesOver = index === own.length - 1 && kid === all.at(-1);
				emit(kid, takesOver ? lane : lane + 1, { row, lane });
			}
		}
	};
	for (const root of shape.roots) if (!shown || shown.has(root)) emit(root, 0);
	for (const [to, { line, isMerge }] of rows.entries()) {
		const source = isMerge ? limbs.get(mergedFrom(line)) : undefined;
		const from = rowOf.get((source?.own.at(-1) ?? source?.after?.line)?.id ?? "");
		if (!source || from === undefined) continue;
		const [top, end] = [Math.min(from, to), Math.max(from, to)];
		const between = rows.slice(top + 1, end);
		const lane = 1 + Math.max(rows[top]!.lane, ...between.map(({ clear }) => clear));
		for (const row of between) row.clear = lane;
		rows[end]!.clear = Math.max(rows[end]!.clear, lane - 0.4);
		lanes = Math.max(lanes, lane + 1);
		strokes.push({
			kind: "merge",
			limb: source,
			from: top,
			to: end,
			fromLane: rows[top]!.lane,
			toLane: rows[end]!.lane,
			lane,
		});
	}
	return { rows, strokes, lanes, rowOf };
}

/** Return the branches that fit, and those that they go on from. */
export function fitting({ limbs }: Shape, fits: (limb: Limb) => boolean): ReadonlySet<Limb> {
	const found = new Set<Limb>();
	for (const limb of [...limbs.values()].reverse()) {
		if (fits(limb)) found.add(limb);
		if (found.has(limb) && limb.after) found.add(limb.after.limb);
	}
	return found;
}

/** Return the id of the branch that an entry was merged from, as a summary or as a copy. */
const mergedFrom = (line: Line | undefined): string =>
	line?.mergedFromConversationId ?? line?.copiedFromConversationId ?? "";
