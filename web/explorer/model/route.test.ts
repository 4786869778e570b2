import { expect, test } from "vitest";
import { routeOf, toAlternatives, toCompare, toConversation, toList, toTree } from "./route.ts";

const [A, B, C] = ["a", "b", "c"].map((one) => `01a21cae-37ba-75eb-b5a8-d080bba291e${one}`) as [
	string,
	string,
	string,
];

test("each address leads to what it was made of", () => {
	expect(routeOf(toList())).toEqual({ name: "list" });
	expect(routeOf(toConversation(A))).toEqual({ name: "conversation", id: A });
	expect(routeOf(toConversation(A, B))).toEqual({ name: "conversation", id: A, entryId: B });
	expect(routeOf(toTree(A))).toEqual({ name: "tree", id: A });
	expect(routeOf(toCompare([A, B, C]))).toEqual({ name: "compare", ids: [A, B, C] });
	expect(routeOf(toCompare([A, B, A, B]))).toEqual({ name: "compare", ids: [A, B] });
	expect(routeOf(toAlternatives(A, B))).toEqual({ name: "alternatives", id: A, entryId: B });
	expect(routeOf(toAlternatives(A, null))).toEqual({ name: "alternatives", id: A, entryId: null });
});

test("an address that names nothing is the list, and one of what is not there names it", () => {
	for (const hash of [
		"",
		"#",
		"#/x",
		"#/c/",
		`#/c/${A}/x/y`,
		`#/c/${A}/e/`,
		"#/c/a b",
		`#/c/${A}/e/${B}/more`,
	])
		expect(routeOf(hash)).toEqual({ name: "list" });
	expect(routeOf("#/c/not-there")).toEqual({ name: "conversation", id: "not-there" });
});
