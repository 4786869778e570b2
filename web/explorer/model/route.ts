// The addresses of what the page shows. They stand behind the # of its address.

import type { Route } from "./types.ts";

const ID = "[\\w-]{1,100}";
const PLACE = new RegExp(`^#/c/(${ID})(?:/(.*))?$`);

export const toList = (): string => "#/";

export const toConversation = (id: string, entryId?: string | null): string =>
	`#/c/${id}${entryId ? `/e/${entryId}` : ""}`;

export const toTree = (id: string): string => `#/c/${id}/tree`;

/** The first one is what the others are held against. */
export const toCompare = ([id = "", ...others]: readonly string[]): string =>
	`#/c/${id}/compare${others.length ? `/${others.join(",")}` : ""}`;

/** entryId: the entry that all alternatives follow; null: the beginning. */
export const toAlternatives = (id: string, entryId: string | null): string =>
	`#/c/${id}/alternatives${entryId ? `/${entryId}` : ""}`;

/** Return what an address names. Any other text is the list. */
export function routeOf(hash: string): Route {
	const [, id, rest = ""] = PLACE.exec(hash) ?? [];
	if (!id) return { name: "list" };
	const [what = "", more = "", none] = rest.split("/");
	const ids = more.split(",").filter(Boolean);
	if (none !== undefined || !ids.every((one) => new RegExp(`^${ID}$`).test(one))) return { name: "list" };
	if (what === "") return { name: "conversation", id };
	if (what === "e" && ids.length === 1) return { name: "conversation", id, entryId: ids[0] };
	if (what === "tree" && !more) return { name: "tree", id };
	if (what === "compare") return { name: "compare", ids: [...new Set([id, ...ids])] };
	if (what === "alternatives" && ids.length <= 1)
		return { name: "alternatives", id, entryId: ids[0] ?? null };
	return { name: "list" };
}
