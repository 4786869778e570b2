// What the service finds for a query: conversations by their titles, names, and entries, page after page.

import { useEffect, useRef, useState } from "react";
import type { ConversationDetails, Hit, Name } from "../model/types.ts";
import type { App } from "../service/app.ts";
import { isAborted } from "../service/connection.ts";

const TYPED_MS = 200;
const HITS = 20;
/** So many of each kind are shown at first. */
export const ROWS = 8;
/** So many hits glow: by meaning, each message is near to a question in some way. */
const GLOWING = 5;

export interface Found {
	query: string;
	conversations: readonly ConversationDetails[];
	names: readonly Name[];
	hits: readonly Hit[];
	/** Where the search goes on; null: all was searched. */
	cursor: string | null;
}

export interface Search {
	found: Found;
	isBusy: boolean;
	problem: unknown;
	/** Search on, behind what was found. */
	more: () => Promise<void>;
	again: () => Promise<void>;
}

const NOTHING: Found = { query: "", conversations: [], names: [], hits: [], cursor: null };

/**
 * Search for a query when it has not changed for a moment. By meaning, what was found glows on the tree; then only what
 * the open branch shows is searched, unless one asks for more.
 */
export function useSearch(app: App, query: string): Search {
	const { client, grove, place } = app;
	const { isByMeaning, isWide } = app.search;
	const [found, setFound] = useState(NOTHING);
	const [isBusy, setBusy] = useState(false);
	const [problem, setProblem] = useState<unknown>();
	const round = useRef(new AbortController());

	const search = async (from: Found, afterCursor?: string) => {
		round.current.abort();
		round.current = new AbortController();
		const { signal } = round.current;
		setBusy(true);
		setProblem(undefined);
		try {
			const conversationId = isByMeaning && !isWide ? place?.id : undefined;
			const searchType = isByMeaning ? "auto" : "fulltext";
			const more = client.api.searchConversations(
				{ query, limit: HITS, includeEntry: false, searchType, conversationId, afterCursor },
				{ signal },
			);
			if (!afterCursor) {
				const listed = { query, mode: "all", ancestry: "all", archived: "include", limit: ROWS } as const;
				const [titles, names] = await Promise.all([
					client.api.listConversations(listed, { signal }),
					client.names({ signal }).list(),
				]);
				const fits = names.filter(
					({ name, deleted }) => !deleted && name.toLowerCase().includes(query.toLowerCase()),
				);
				from = { ...NOTHING, query, conversations: titles.data, names: fits.slice(0, ROWS) };
				setFound({ ...from, cursor: "" });
			}
			const page = await more;
			const hits = [...from.hits, ...page.data];
			setFound({ ...from, hits, cursor: page.afterCursor });
			if (isByMeaning) grove?.mark(hits.slice(0, GLOWING).map(({ entryId }) => entryId));
		} catch (error) {
			if (isAborted(error)) return;
			setProblem(error);
		}
		setBusy(false);
	};
	useEffect(() => {
		round.current.abort();
		if (!query) return setFound(NOTHING);
		const timer = setTimeout(() => void search(NOTHING), TYPED_MS);
		return () => clearTimeout(timer);
	}, [query, isByMeaning, isWide]);
	useEffect(() => () => round.current.abort(), []);
	return {
		found,
		isBusy,
		problem,
		more: () => search(found, found.cursor ?? undefined),
		again: () => search(NOTHING),
	};
}
