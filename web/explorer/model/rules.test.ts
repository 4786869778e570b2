import { expect, test } from "vitest";
import { givenBy, isAtLeast, tagLine, tagLines, tagsOf } from "./rules.ts";
import { clipped, counted, dayName, shortTimes, titleOf, usd, userOf, visible } from "./words.ts";

test("a level includes those below it, and who manages gives those below the own", () => {
	expect(isAtLeast("manager", "writer")).toBe(true);
	expect(isAtLeast("reader", "writer")).toBe(false);
	expect(isAtLeast(undefined, "reader")).toBe(false);
	expect(givenBy("owner")).toEqual(["reader", "writer", "manager"]);
	expect(givenBy("manager")).toEqual(["reader", "writer"]);
	expect(givenBy("writer")).toEqual([]);
});

test("tags become lines, and lines the same tags", () => {
	const tags = { ci: "", agent: "fixer", odd: ' "x"\n', __proto__: "kept" };
	const given = Object.fromEntries([...Object.entries(tags), ["__proto__", "kept"]]);
	expect(tagsOf(tagLines(given)).wrong).toBe("");
	expect({ ...tagsOf(tagLines(given)).tags }).toEqual({ ...given });
	expect(tagLine(["a", "b"])).toBe("a:b");
});

test("lines that name no tags are told", () => {
	for (const lines of ["a b:c", "a:b\na:c", `a:${"x".repeat(257)}`, "x".repeat(65)])
		expect(tagsOf(lines).wrong).not.toBe("");
	expect(tagsOf(Array.from({ length: 51 }, (_, at) => `t${at}`).join("\n")).wrong).toMatch("50");
});

test("words say counts, costs, days and hidden characters", () => {
	expect(counted(2000, "fork")).toBe("2,000 forks");
	expect([usd(0), usd(0.034), usd(12.5), usd(0.0000021)]).toEqual([
		"$0.00",
		"$0.034",
		"$12.50",
		"$0.0000021",
	]);
	expect(usd(0.1 + 0.2)).toBe("$0.30");
	const now = new Date(2026, 10, 27, 0, 30);
	expect(dayName(new Date(2026, 10, 26, 23, 50).toISOString(), now)).toBe("Yesterday");
	expect(dayName(new Date(2026, 10, 27, 0, 10).toISOString(), now)).toBe("Today");
	expect(shortTimes(new Date(2026, 10, 27, 0, 10).toISOString(), now)).toBe("00:10");
	expect(shortTimes(new Date(2026, 10, 26, 23, 50).toISOString(), now)).toMatch(/26.*, 23:50$/);
	const cut = "I have four days in October and would li";
	expect([cut, cut.slice(2), `${cut.slice(0, -1)}.`, " ", null].map(titleOf)).toEqual([
		`${cut}…`,
		cut.slice(2),
		`${cut.slice(0, -1)}.`,
		"Untitled",
		"Untitled",
	]);
	expect(visible("a\u202Eb\n")).toBe("a[U+202E]b\n");
	expect(clipped("a😀b", 2)).toBe("a…");
});

test("the user of a token is its subject, or the token itself", () => {
	const payload = btoa(JSON.stringify({ sub: "ann" }));
	expect(userOf(`x.${payload}.y`)).toBe("ann");
	expect(userOf("ann.b")).toBe("ann.b");
});
