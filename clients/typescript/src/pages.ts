// Lists as async iterables: page after page is asked for while one goes on.

import { InputError, UnexpectedAnswerError } from "./errors.ts";

/** A page of a list. cursor: where the list goes on; null where it ends. */
export interface Page<T> {
	readonly data: readonly T[];
	readonly cursor: string | null;
}

/** A list of any length. `for await (const one of pages)` goes through it; each walk begins anew. */
export class Pages<T> implements AsyncIterable<T> {
	readonly #fetch: (cursor: string | undefined) => Promise<Page<T>>;

	/** fetch: returns the page at a cursor; undefined: the first one. */
	constructor(fetch: (cursor: string | undefined) => Promise<Page<T>>) {
		this.#fetch = fetch;
	}

	/** Go through the pages. A page may be short, even empty, and the list still goes on. */
	async *pages(): AsyncGenerator<Page<T>, void, undefined> {
		const followed = new Set<string>();
		let cursor: string | undefined;
		do {
			const page = await this.#fetch(cursor);
			const next: unknown = page.cursor; // JSON: of any type
			if (!Array.isArray(page.data) || !(next === null || typeof next === "string")) {
				throw new UnexpectedAnswerError("the answer is no page of a list");
			}
			if (next !== null && followed.has(next)) {
				throw new UnexpectedAnswerError("the list comes back to a page that was there before");
			}
			cursor = next ?? undefined;
			if (cursor !== undefined) followed.add(cursor);
			yield page;
		} while (cursor !== undefined);
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
		for await (const page of this.pages()) yield* page.data;
	}

	/** Return what the list holds, the first `limit` of it if that is given. */
	async list({ limit = Infinity }: { limit?: number } = {}): Promise<T[]> {
		const found: T[] = [];
		if (limit <= 0) return found;
		for await (const page of this.pages()) {
			found.push(...page.data);
			if (found.length >= limit) break;
		}
		return limit < found.length ? found.slice(0, limit) : found;
	}

	/** Return the first of the list; undefined if it is empty. */
	async first(): Promise<T | undefined> {
		return (await this.list({ limit: 1 }))[0];
	}
}

/**
 * Return a list of the pages that an operation answers. ask: asks for the page at a cursor.
 */
export const pagesOf = <T>(
	ask: (afterCursor: string | undefined) => Promise<{ data: T[]; afterCursor: string | null }>,
): Pages<T> =>
	new Pages(async (cursor) => {
		const { data, afterCursor } = await ask(cursor);
		return { data, cursor: afterCursor };
	});

/** Refuse the arguments that choose one page: a list asks for all of them. Throws InputError. */
export function refusePaging(given: object): void {
	const taken = ["afterCursor", "beforeCursor", "limit", "tail"].find((name) => name in given);
	if (taken !== undefined)
		throw new InputError("a list has all pages; `.list({ limit })` ends earlier", taken);
}
