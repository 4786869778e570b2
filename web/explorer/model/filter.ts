// Which branches a filter leaves: `night train failed agent:planner tag:eval cost>0.01`. All its words must fit.

import { scoreOf, sumOf, type Limb } from "./shape.ts";
import type { Line } from "./types.ts";

const NUMBER = /^(score|cost|entries)([<>])(\d*\.?\d+)$/;
const NAMED = /^(tag|agent|user|name):(.+)$/;

/** Return a function that tells whether a branch has all that the filter names; undefined if it names nothing. */
export function filterOf(query: string): ((limb: Limb) => boolean) | undefined {
	const tests = query.toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
	return tests.length ? (limb) => tests.every((test) => test(limb)) : undefined;
}

function testOf(word: string): (limb: Limb) => boolean {
	const [, what, sign, number] = NUMBER.exec(word) ?? [];
	if (number) {
		const value = {
			score: scoreOf,
			cost: (limb: Limb) => sumOf(limb.own).costUsd,
			entries: (limb: Limb) => limb.own.length,
		}[what as "score"];
		return (limb) => {
			const found = value(limb);
			return found !== undefined && (sign === ">" ? found > Number(number) : found < Number(number));
		};
	}
	const [, name, text = word] = NAMED.exec(word) ?? [];
	const has = (all: readonly (string | undefined)[]): boolean =>
		all.some((one) => one?.toLowerCase().includes(text));
	const places: Record<string, (limb: Limb) => boolean> = {
		tag: ({ branch }) => has(Object.entries(branch?.tags ?? {}).map(([key, value]) => `${key}:${value}`)),
		agent: ({ own, branch }) => has([branch?.agentId, ...own.map(({ agentId }) => agentId)]),
		user: ({ own }) => has(own.map(({ userId }) => userId)),
		name: ({ look }) => has(look.names),
		words: ({ look, own }) => has([look.label]) || own.some((line) => says(line, text)),
	};
	return name ? places[name]! : (limb) => Object.values(places).some((place) => place(limb));
}

/** Return whether an entry says a word. `failed` is said where a tool has failed. */
const says = ({ text, failed }: Line, word: string): boolean =>
	text.toLowerCase().includes(word) || (word === "failed" && failed === true);

/** Return whether an entry says one of the plain words of a filter. */
export function saysOf(query: string): (line: Line) => boolean {
	const plain = query
		.toLowerCase()
		.split(/\s+/)
		.filter((word) => word && !NUMBER.test(word) && !NAMED.test(word));
	return (line) => plain.some((word) => says(line, word));
}
