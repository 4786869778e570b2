// The addresses of what the page shows. They stand behind the # of its address. Pure.

export const toList = () => "#/";

/** @param {string} id @param {string} [entryId] */
export const toConversation = (id, entryId) => `#/c/${id}${entryId ? `/e/${entryId}` : ""}`;

/** @param {string} id @param {string} otherId */
export const toCompare = (id, otherId) => `#/c/${id}/compare/${otherId}`;

/** Return what an address names. Any other text is the list. @param {string} hash @returns {Route} */
export function routeOf(hash) {
	const [, id, what, other] = /^#\/c\/([0-9a-f-]{36})(?:\/(e|compare)\/([0-9a-f-]{36}))?$/.exec(hash) ?? [];
	if (!id) return { name: "list" };
	if (what === "compare") return { name: "compare", id, otherId: other };
	return { name: "conversation", id, entryId: other };
}
