// What is told of the notes on a message. Pure.

import type { Note } from "./types.ts";
import { counted } from "./words.ts";

/** Return the mean of the scores of notes, in three digits, or undefined if none has a score. */
export function meanOf(notes: readonly Pick<Note, "score">[]): number | undefined {
	const scores = notes.flatMap(({ score }) => score ?? []);
	if (!scores.length) return undefined;
	const mean = scores.reduce((sum, one) => sum + one, 0) / scores.length;
	return Math.abs(mean) < 1000 ? Number(mean.toPrecision(3)) : Math.round(mean);
}

/** Return how many notes there are and their mean score, as "2 notes, mean 0.5". */
export function notesWords(notes: readonly Pick<Note, "score">[]): string {
	const mean = meanOf(notes);
	return counted(notes.length, "note") + (mean === undefined ? "" : `, mean ${mean}`);
}

/** Return a note as one has typed it, and what is wrong with it, or "". */
export function noteOf(
	text: string,
	score: string,
): { note: { text?: string; score?: number }; wrong: string } {
	const [said, given] = [text.trim(), score.trim()];
	const number = Number(given);
	return {
		note: { ...(said && { text: said }), ...(given && { score: number }) },
		wrong: given && !Number.isFinite(number) ? `“${given}” is no number.` : "",
	};
}
