// What entries have cost, and how long one took after the other. Pure.

import type { Line } from "./types.ts";

/** The sums of some entries. ms: from the first of them to the last. */
export interface Cost {
	entries: number;
	inputTokens: number;
	outputTokens: number;
	cachedInputTokens: number;
	costUsd: number;
	ms: number;
}

export interface Costs {
	branch: Cost;
	path: Cost;
	tree: Cost;
}

const NANO = 1e9; // the service counts in whole billionths of a dollar, whose sums are exact

type Counted = Pick<Line, "createdAt" | "usage">;

/** Return a member of a usage as a number. */
export const used = (usage: unknown, name: string): number =>
	Number((usage as Record<string, unknown> | undefined)?.[name] ?? 0) || 0;

export function costOf(lines: readonly Counted[]): Cost {
	const sum = (name: string): number => lines.reduce((all, { usage }) => all + used(usage, name), 0);
	const nano = lines.reduce((all, { usage }) => all + Math.round(used(usage, "costUsd") * NANO), 0);
	const times = lines.map(({ createdAt }) => Date.parse(createdAt));
	return {
		entries: lines.length,
		inputTokens: sum("inputTokens"),
		outputTokens: sum("outputTokens"),
		cachedInputTokens: sum("cachedInputTokens"),
		costUsd: nano / NANO,
		ms: times.length ? times.reduce((a, b) => Math.max(a, b)) - times.reduce((a, b) => Math.min(a, b)) : 0,
	};
}

/** Return the entries that lead to one, the oldest first. lines: of a tree. */
export function pathTo<L extends Pick<Line, "id" | "parentId">>(lines: readonly L[], lastId: string | null): L[] {
	const byId = new Map(lines.map((one) => [one.id, one]));
	const path: L[] = [];
	for (let one = byId.get(lastId ?? ""); one; one = byId.get(one.parentId ?? "")) path.push(one);
	return path.reverse();
}

/** Return what a branch has cost by itself, with all before it, and what the whole tree has. */
export function costsOf(lines: readonly Line[], branch: { conversationId: string; lastEntryId: string | null }): Costs {
	return {
		branch: costOf(lines.filter(({ conversationId }) => conversationId === branch.conversationId)),
		path: costOf(pathTo(lines, branch.lastEntryId)),
		tree: costOf(lines),
	};
}

/** Return the milliseconds between each entry and the one before it; 0 for the first. */
export const gapsOf = (lines: readonly Pick<Line, "createdAt">[]): number[] =>
	lines.map(({ createdAt }, at) => Math.max(0, Date.parse(createdAt) - Date.parse(lines[at - 1]?.createdAt ?? createdAt)));

/** Return a time as "212 ms", "3.2 s", "4 min 12 s", "2 h 5 min", "3 days". */
export function duration(ms: number): string {
	const seconds = ms / 1000;
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
	const [whole, minutes, hours] = [Math.round(seconds), Math.floor(seconds / 60), Math.floor(seconds / 3600)];
	if (minutes < 60) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
	if (hours < 48) return `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
	return `${Math.floor(hours / 24)} days`;
}

/** Return a number of tokens, short: "36.2k". */
export const short = (count: number): string =>
	count < 1000 ? String(count) : count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;

/** Return a cost: three decimals, more for less than a tenth of a cent. */
export const dollars = (usd: number): string =>
	`$${usd.toLocaleString("en", { minimumFractionDigits: usd >= 0.001 || usd === 0 ? 3 : 0, maximumFractionDigits: usd >= 0.001 ? 3 : 6 })}`;

/** Return what an entry used, in few words: "2.3k in", "121 out", "$0.012". */
export function usageFacts(usage: unknown): string[] {
	const [input, output, usd] = ["inputTokens", "outputTokens", "costUsd"].map((name) => used(usage, name));
	return [input && `${short(input)} in`, output && `${short(output)} out`, usd && dollars(usd)].filter(
		(one) => typeof one === "string",
	);
}
