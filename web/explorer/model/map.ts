// The tree at full size: one row a branch, whose place from left to right is that of its entries in what it shows.

import { fitting } from "./outline.ts";
import { lastUse, leafward, rootward, scoreOf, sumOf, type Limb, type Shape } from "./shape.ts";

/** A branch, or with `folded` those that go on from it and of which none fits. */
export interface MapRow {
	key: string;
	limb: Limb;
	facts: Facts;
	/** The row of the branch that it goes on from; -1 if there is none, or the rows are sorted. */
	parent: number;
	/** Whether it fits itself, or is shown for what goes on from it. */
	fits: boolean;
	folded?: { limbs: Limb[]; branches: number; best: number | undefined };
}

/** The columns. */
export interface Facts {
	score: number | undefined;
	entries: number;
	costUsd: number;
	last: string;
}

export type Column = keyof Facts;

export interface MapOptions {
	/** Which branches are shown, with those that they go on from. */
	fits: (limb: Limb) => boolean;
	/** Which branch is chosen: what leads to it is shown, too. */
	chosen: string | undefined;
	/** Keys of folded rows that are shown. */
	opened: ReadonlySet<string>;
	/** By which column the rows are sorted; undefined: as the branches go on from each other. */
	sort?: { by: Column; down: boolean } | undefined;
}

export const factsOf = (limb: Limb): Facts => {
	const { entries, costUsd } = sumOf(limb.own);
	return { score: scoreOf(limb), entries, costUsd, last: lastUse(limb) };
};

/** Return the rows, from the top. */
export function mapOf(shape: Shape, { fits, chosen, opened, sort }: MapOptions): MapRow[] {
	const path = new Set(rootward(shape.limbs.get(chosen ?? "")));
	const shown = fitting(shape, (limb) => path.has(limb) || fits(limb));
	const row = (limb: Limb, parent: number): MapRow => ({
		key: limb.id,
		limb,
		facts: factsOf(limb),
		parent,
		fits: fits(limb),
	});
	if (sort) {
		const { by, down } = sort;
		const all = [...shape.limbs.values()].filter((limb) => path.has(limb) || fits(limb));
		return all.map((limb) => row(limb, -1)).sort((one, other) => byColumn(one.facts, other.facts, by, down));
	}
	const best = bestOf(shape);
	const rank = (limb: Limb): number => best.get(limb) ?? -Infinity;
	const rows: MapRow[] = [];
	const place = (limbs: readonly Limb[], parent: number, key: string): void => {
		// What parts later stands higher, so that no line crosses another.
		const all = [...limbs].sort((one, other) => other.start - one.start || rank(other) - rank(one));
		const weak = opened.has(key) ? [] : all.filter((limb) => !shown.has(limb));
		const branches = weak.reduce((sum, limb) => sum + [...leafward(limb)].length, 0);
		for (const limb of all) {
			if (branches > 1 && weak.includes(limb)) continue;
			place(limb.kids, rows.push(row(limb, parent)) - 1, `${limb.id}…`);
		}
		if (branches < 2) return;
		const scores = weak.flatMap((limb) => best.get(limb) ?? []);
		const folded = { limbs: weak, branches, best: scores.length ? Math.max(...scores) : undefined };
		rows.push({ ...row(weak[0]!, parent), key, folded });
	};
	place(shape.roots, -1, "…");
	return rows;
}

/** Compare by a column. What has no score comes last. */
function byColumn(one: Facts, other: Facts, by: Column, down: boolean): number {
	const [a, b] = [one[by], other[by]];
	if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
	return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
}

/** Return the best score of each branch and of what goes on from it, where there is one. */
function bestOf({ limbs }: Shape): Map<Limb, number> {
	const best = new Map<Limb, number>();
	for (const limb of [...limbs.values()].reverse()) {
		const score = Math.max(scoreOf(limb) ?? -Infinity, best.get(limb) ?? -Infinity);
		if (score === -Infinity) continue;
		best.set(limb, score);
		if (limb.after) best.set(limb.after.limb, Math.max(score, best.get(limb.after.limb) ?? -Infinity));
	}
	return best;
}

/** Return the numbers for a scale of so many entries: 1, then about `count` round ones. */
export function ticksOf(entries: number, count: number): number[] {
	const rough = entries / Math.max(1, count);
	const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
	const step = [1, 2, 5, 10].find((one) => one * power >= rough)! * power;
	return [1, ...Array.from({ length: Math.floor(entries / step) }, (_, index) => (index + 1) * step)].filter(
		(tick, index, all) => tick !== all[index - 1],
	);
}
