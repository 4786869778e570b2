// The query that a question becomes.

/** So many entries answer a question, if not told otherwise. */
export const HITS = 5;
const QUERY_CHARACTERS = 500;

/** How many entries, with how many exchanges on each side, and their lowest score. */
export interface Recalled {
	limit?: number | undefined;
	around?: number | undefined;
	minScore?: number | undefined;
}

/** Return the query of a question: no mark in it demands, and its end is cut off if it is long. */
export function asked(question: string): string {
	const plain = question
		.replace(/(?<!\S)\+|"/g, " ")
		.split(/\s+/)
		.filter(Boolean)
		.join(" ");
	return (
		Array.from(plain || question)
			.slice(0, QUERY_CHARACTERS)
			.join("")
			.trim() || question
	);
}
