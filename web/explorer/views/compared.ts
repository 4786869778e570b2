// What two to six branches show from where they part: loaded page after page, and again when they go on.

import { useCallback, useEffect, useRef, useState } from "react";
import type { Entry } from "../model/types.ts";
import type { App } from "../service/app.ts";

const PAGE = 50;

export interface Side {
	entries: readonly Entry[];
	/** Whether there is more than what is loaded. */
	hasMore: boolean;
}

export interface Sides {
	/** By the id of the branch. */
	sides: ReadonlyMap<string, Side>;
	problem: unknown;
	/** Load the next page of each. */
	more: () => Promise<void>;
	again: () => void;
}

/** Load what branches show after an entry. ends: the last entry of each, so that news are loaded. */
export function useSides(app: App, ids: readonly string[], after: string | null, ends: string): Sides {
	const [sides, setSides] = useState<ReadonlyMap<string, Side>>(new Map());
	const [problem, setProblem] = useState<unknown>();
	const [tries, setTries] = useState(0);
	const known = useRef(sides);
	known.current = sides;
	const key = ids.join();

	const take = useCallback(
		async (grow: boolean, isNew: boolean, signal: AbortSignal) => {
			try {
				const pages = key.split(",").map(async (id) => {
					const before = isNew ? undefined : known.current.get(id);
					const from = before?.entries.at(-1)?.id ?? after;
					if (before?.hasMore && !grow) return [id, before] as const;
					const query = { channel: "history", limit: PAGE, afterCursor: from ?? undefined };
					const { data, afterCursor } = await app.client.api.listEntries(
						{ conversationId: id, ...query },
						{ signal },
					);
					return [
						id,
						{ entries: [...(before?.entries ?? []), ...data], hasMore: afterCursor !== null },
					] as const;
				});
				const all = await Promise.all(pages);
				if (signal.aborted) return;
				setSides(new Map(all));
				setProblem(undefined);
			} catch (error) {
				if (!signal.aborted) setProblem(error);
			}
		},
		[key, after, app],
	);

	const scope = useRef("");
	useEffect(() => {
		const ended = new AbortController();
		const isNew = scope.current !== after + key;
		scope.current = after + key;
		void take(false, isNew, ended.signal);
		return () => ended.abort();
	}, [take, key, after, ends, tries]);
	const more = useCallback(() => take(true, false, new AbortController().signal), [take]);
	return { sides, problem, more, again: () => setTries(tries + 1) };
}
