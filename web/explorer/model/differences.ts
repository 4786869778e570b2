// What one text has in place of what another has. Loaded when it is needed.

import { diffWordsWithSpace } from "diff";

/** A piece of both texts, or of one of them. */
interface Piece {
	kind: "same" | "ins" | "del";
	text: string;
}

const ALIKE_MIN = 0.25; // of the characters

/** Return the pieces that lead from one text to the other; undefined if the texts have too little in common. */
export function differencesOf(from: string, to: string): Piece[] | undefined {
	const pieces = diffWordsWithSpace(from, to, { maxEditLength: 2000 })?.map(
		({ added, removed, value }): Piece => ({ kind: added ? "ins" : removed ? "del" : "same", text: value }),
	);
	const same = pieces?.filter(({ kind, text }) => kind === "same" && /\w/.test(text)) ?? [];
	const shared = same.reduce((sum, { text }) => sum + text.length, 0);
	return shared >= ALIKE_MIN * Math.max(from.length, to.length) ? pieces : undefined;
}
