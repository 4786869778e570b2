// What a branch has cost, and how long one message took after the other. Pure.

import { shownBy, sumOf, type Limb, type Sum } from "./shape.ts";
import type { Line } from "./types.ts";

/** own: of the branch alone; path: with all that it shows; tree: of all branches, each entry once. */
export interface Costs {
	own: Sum;
	path: Sum;
	tree: Sum;
}

export const costsOf = (lines: readonly Line[], limb: Limb): Costs => ({
	own: sumOf(limb.own),
	path: sumOf(shownBy(limb)),
	tree: sumOf(lines),
});

/** Return the milliseconds between each entry and the one before it; 0 for the first. */
export const gapsOf = (lines: readonly Pick<Line, "at">[]): number[] =>
	lines.map(({ at }, place) => Math.max(0, Date.parse(at) - Date.parse(lines[place - 1]?.at ?? at)));

/** Return a time as "212 ms", "3.2 s", "4 min 12 s", "2 h 5 min" or "3 days". */
export function duration(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
	const two = (large: number, unit: string, small: number, part: string): string =>
		small ? `${large} ${unit} ${small} ${part}` : `${large} ${unit}`;
	const seconds = Math.round(ms / 1000);
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return two(minutes, "min", seconds % 60, "s");
	const hours = Math.floor(minutes / 60);
	return hours < 48 ? two(hours, "h", minutes % 60, "min") : `${Math.floor(hours / 24)} days`;
}
