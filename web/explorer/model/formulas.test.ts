import type { Token, Tokens } from "marked";
import { expect, test } from "vitest";

import { tokensOf } from "./formulas.ts";

/** Return the formulas of a text: those that are lines of their own in brackets. */
function formulas(text: string): string[] {
	const all = (tokens: readonly Token[]): Token[] =>
		tokens.flatMap((one) => [
			one,
			...all((one as Tokens.Generic).tokens ?? []),
			...all((one as Tokens.List).items ?? []),
		]);
	return all(tokensOf(text))
		.filter(({ type }) => type === "formula")
		.map((one) => ((one as Tokens.Generic).isBlock ? `[${(one as Tokens.Generic).text}]` : one.raw));
}

test("a formula stands in a line, or in lines of its own", () => {
	expect(formulas("So $a^2$, \\(b_1*c_2*d\\) and $x$.")).toEqual(["$a^2$", "\\(b_1*c_2*d\\)", "$x$"]);
	expect(formulas("Then\n$$\na = b\n- c \\$ d\n$$\nand\n\\[\nx\n\\]\n")).toEqual([
		"[a = b\n- c \\$ d]",
		"[x]",
	]);
	expect(formulas("One $$a$$ line, **and $b$**, | $c$")).toEqual(["[a]", "$b$", "$c$"]);
	expect(formulas("1. First\n   $$a$$\n2. $b$\n\n> $c$\n\n| $d$ |\n|---|\n| 1 |")).toEqual([
		"[a]",
		"$b$",
		"$c$",
	]);
});

test.each([
	"It costs $5, not $6, or US$7 to US$8; $5-$10 and ($5) or ($6).",
	"Set $HOME/bin:$PATH, ${A}${B}, $A and $B, A$1$.",
	"\\$a$ and `$a$` and $ a $ and $a\nb$ and $$ and $$$$",
	"```\n$a$\n$$b$$\n```",
	"$$a\n\nb$$",
	"\\[a\\](b) and \\(not ended",
	"\\[1\\] A footnote",
])("what is no formula stays as it is written: %s", (text) => {
	expect(formulas(text)).toEqual([]);
});

test("a sign without an end takes nothing of what follows", () => {
	expect(tokensOf("$$\nno end\n\n# Head").map(({ type }) => type)).toContain("heading");
});
