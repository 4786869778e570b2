// The ways on from one entry, and how several branches go on side by side.

import { firstSaid, scoreOf, shownBy, sumOf, type Limb, type Shape, type Sum } from "./shape.ts";
import type { Line, Role } from "./types.ts";

/** A branch from where it parts. */
export interface Way extends Sum {
	limb: Limb;
	/** What it shows from there on. */
	lines: Line[];
	score: number | undefined;
	/** Its first words from there on, else what the branch is called; and its last ones. */
	words: string;
	last: string;
}

/**
 * Return the ways on from an entry, or with null those that begin a history: one for each entry that follows it, and
 * one for each branch that ends there. Of the branches that share a way, the one that began it stands for it, or if
 * that is deleted, the oldest.
 */
export function waysFrom(shape: Shape, entryId: string | null): Way[] {
	const place = entryId === null ? undefined : shape.places.get(entryId);
	if (entryId !== null && !place) return [];
	const own = place && place.limb.own.length > place.index + 1 ? [place.limb] : [];
	const kids = place ? place.limb.kids.filter(({ after }) => after?.index === place.index) : shape.roots;
	return [...own, ...kids].flatMap((limb) => {
		const from = place && limb === place.limb ? place.index + 1 : 0;
		const stands = limb.branch ? limb : heirOf(limb, from);
		return stands ? wayOf(stands, entryId) : [];
	});
}

/** Return a branch from an entry on that it shows, or with null from its beginning. */
export function wayOf(limb: Limb, entryId: string | null): Way {
	const all = shownBy(limb);
	const lines = all.slice(all.findIndex(({ id }) => id === entryId) + 1);
	const last = firstSaid(lines.toReversed()) ?? "";
	const words = firstSaid(lines) ?? limb.look.label;
	return { limb, lines, ...sumOf(lines), score: scoreOf(limb), words, last };
}

/** Return the oldest branch that is not deleted of those that go on from an entry or a later one. */
function heirOf(limb: Limb, from: number): Limb | undefined {
	for (const kid of limb.kids) {
		const found = (kid.after?.index ?? 0) < from ? undefined : kid.branch ? kid : heirOf(kid, 0);
		if (found) return found;
	}
	return undefined;
}

/** Return the last entry that all these branches show; null if there is none. */
export function baseOf(limbs: readonly Limb[]): Line | null {
	const [first = [], ...others] = limbs.map(shownBy);
	const end = first.findIndex(({ id }, index) => others.some((lines) => lines[index]?.id !== id));
	return (end < 0 ? first.at(-1) : first[end - 1]) ?? null;
}

export type Measure = "score" | "entries" | "inputTokens" | "costUsd" | "seconds";

/** Return the ways in the order of a measure, equal ones by cost. Those without a score come last. */
export function sorted(ways: readonly Way[], by: Measure, down: boolean): Way[] {
	const value = (way: Way): number => way[by] ?? (down ? -Infinity : Infinity);
	return [...ways].sort(
		(one, other) => (value(one) - value(other) || 0) * (down ? -1 : 1) || one.costUsd - other.costUsd,
	);
}

/** What is best: the highest score, and of those that are good the lowest cost and the shortest time. */
export interface Best {
	/** How high a score is good; undefined: there are no scores, and each way is good. */
	good: number | undefined;
	score: number | undefined;
	costUsd: number | undefined;
	seconds: number | undefined;
}

export function bestOf(ways: readonly Way[]): Best {
	const scores = ways.flatMap(({ score }) => score ?? []);
	const score = scores.length ? Math.max(...scores) : undefined;
	const good = score === undefined ? undefined : score > 0 ? 0.9 * score : score;
	const all = ways.filter((way) => good === undefined || (way.score !== undefined && way.score >= good));
	const least = (by: "costUsd" | "seconds"): number | undefined => {
		const found = all.map((way) => way[by]).filter((value) => value > 0);
		return ways.length > 1 && found.length ? Math.min(...found) : undefined;
	};
	return { good, score, costUsd: least("costUsd"), seconds: least("seconds") };
}

/**
 * Return what stands side by side: in each row one entry of each branch, or undefined.
 *
 * A turn begins with what a user says. The turns of the branches begin in one row, and the last entry of a turn, which
 * is the answer, stands beside the answers of the others, however many steps came before it. A turn that ends with what
 * a tool has returned has no answer yet.
 */
export function rowsOf<T extends { role: Role }>(columns: readonly (readonly T[])[]): (T | undefined)[][] {
	const turns = columns.map(turnsOf);
	const rows: (T | undefined)[][] = [];
	for (let at = 0; at < Math.max(...turns.map(({ length }) => length)); at++) {
		const parts = turns.map((all) => all[at] ?? []);
		const asked = parts.some(([first]) => first?.role === "user");
		const bodies = parts.map((part) => (part[0]?.role === "user" ? part.slice(1) : part));
		if (asked) rows.push(parts.map(([first]) => (first?.role === "user" ? first : undefined)));
		const answers = bodies.map((body) => (body.at(-1)?.role === "tool" ? undefined : body.at(-1)));
		const steps = bodies.map((body, at) => (answers[at] ? body.slice(0, -1) : body));
		for (let step = 0; step < Math.max(...steps.map(({ length }) => length)); step++)
			rows.push(steps.map((body) => body[step]));
		if (answers.some(Boolean)) rows.push(answers);
	}
	return rows;
}

function turnsOf<T extends { role: Role }>(entries: readonly T[]): T[][] {
	const turns: T[][] = [];
	for (const entry of entries) {
		if (entry.role === "user" || !turns.length) turns.push([]);
		turns.at(-1)!.push(entry);
	}
	return turns;
}
