// The operations of the service, and their paths. types.d.ts has their parameters and answers.

export const PAGE_MAX = 200; // of lists that are not of entries
export const ENTRIES_MAX = 1000;

/**
 * Return the operations. Their requests end when `signal` comes. Each returns the body of the answer, and raises
 * Problem. key: an Idempotency-Key, the same for the same deed. once: do not try again.
 * @type {(http: Http, signal?: AbortSignal) => Api}
 */
export function apiOf(http, signal) {
	/** @type {ApiWays["ask"]} */
	const ask = async (method, path, sent = {}) => (await http.send(method, path, { signal, ...sent })).body;
	/** @type {ApiWays["write"]} */
	const write = (name) => (id, body, key) => ask("POST", at(id, name), { body, key });
	/** @type {ApiWays["read"]} */
	const read = (name) => (id, query, once) => ask("GET", at(id, name), { query, once });
	/** @param {string} id */
	const at = (id, name = "") => `/conversations/${encodeURIComponent(id)}${name}`;
	/** @param {string} id */
	const offer = (id) => `/ownership-transfers/${encodeURIComponent(id)}`;

	return {
		listConversations: (query) => ask("GET", "/conversations", { query }),
		searchConversations: (body) => ask("POST", "/conversations/search", { body }),
		createConversation: (body, key) => ask("POST", "/conversations", { body, key }),
		getConversation: read(""),
		updateConversation: (id, body) => ask("PATCH", at(id), { body }),
		deleteConversation: async (id, scope) =>
			(await http.send("DELETE", at(id), { signal, query: { scope } })).status,
		appendEntry: write("/entries"),
		listEntries: read("/entries"),
		compareConversations: read("/compare"),
		listAncestors: read("/ancestors"),
		forkConversation: write("/fork"),
		promoteConversation: (id, key) => ask("POST", at(id, "/promote"), { key }),
		mergeConversation: write("/merge"),
		listForks: read("/forks"),
		listMemberships: read("/memberships"),
		shareConversation: write("/memberships"),
		updateMembership: (id, userId, accessLevel) =>
			ask("PATCH", at(id, "/memberships"), { query: { userId }, body: { accessLevel } }),
		removeMembership: (id, userId) => ask("DELETE", at(id, "/memberships"), { query: { userId } }),
		listTransfers: (query) => ask("GET", "/ownership-transfers", { query }),
		requestTransfer: (body, key) => ask("POST", "/ownership-transfers", { body, key }),
		acceptTransfer: (id, key) => ask("POST", `${offer(id)}/accept`, { key }),
		deleteTransfer: (id) => ask("DELETE", offer(id)),
	};
}

/**
 * Return all rows of a list, or those after a cursor.
 * @template R
 * @param {(query: Query) => Promise<Page<R>>} load
 * @param {string | null} [afterCursor]
 */
export async function allOf(load, afterCursor = null) {
	/** @type {R[]} */
	const rows = [];
	do {
		const page = await load({ limit: PAGE_MAX, afterCursor });
		rows.push(...page.data);
		afterCursor = page.afterCursor;
	} while (afterCursor !== null);
	return rows;
}
