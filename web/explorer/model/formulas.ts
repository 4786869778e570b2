// Formulas in markdown: `$a^2$` and `\(a^2\)` in a line; `$$…$$` and `\[…\]` as lines of their own. Pure.

import { Marked, type TokenizerThis, type Tokens } from "marked";

/** A formula of TeX. raw: as it is written. */
export interface Formula extends Tokens.Generic {
	type: "formula";
	raw: string;
	text: string;
	isBlock: boolean;
}

// As Pandoc's `tex_math_dollars` has it, so that prices and variables of a shell are none: no blank inside of the
// signs, and no letter or digit beside them.
const IN_DOLLARS = /^\$(?![\s$])((?:\\.|[^\\$\n])*?)(?<![\s\\])\$(?![\p{L}\p{N}${(])/u;
const IN_BRACKETS = /^\\\(((?:(?!\\[()])[^\n])+)\\\)/;
const IN_LINE = /^\$\$(?![\s$])((?:\\.|[^\\$\n])+)(?<![\s\\])\$\$(?!\$)/;
const LINES = /^ {0,3}(?:\$\$((?:\\[^]|[^\\$])+)\$\$|\\\[((?:(?!\\[[\]])[^])+)\\\])[ \t]*(?:\n|$)/;
const NAME_BEFORE = /[\p{L}\p{N}$\\]$/u;

const first = (...places: number[]): number | undefined =>
	places.filter((at) => at >= 0).sort((one, other) => one - other)[0];

const reader = new Marked({ gfm: true, breaks: true });
reader.use({
	extensions: [
		{
			name: "formula",
			level: "block",
			start: (text: string) => first(text.indexOf("\n$$"), text.indexOf("\n\\[")),
			tokenizer(text: string): Formula | undefined {
				const [raw, inDollars, inBrackets] = LINES.exec(text) ?? [];
				const held = inDollars ?? inBrackets;
				// An empty line ends a formula, as in TeX: what has no end takes no other paragraph.
				if (raw === undefined || !held?.trim() || /\n[ \t]*\n/.test(held)) return undefined;
				return { type: "formula", raw, text: held.trim(), isBlock: true };
			},
		},
		{
			name: "formula",
			level: "inline",
			start: (text: string) => first(text.indexOf("$"), text.indexOf("\\(")),
			tokenizer(this: TokenizerThis, text: string, before): Formula | undefined {
				const found = IN_LINE.exec(text) ?? IN_DOLLARS.exec(text) ?? IN_BRACKETS.exec(text);
				const [raw, held] = found ?? [];
				const last = (before as Tokens.Generic[] | undefined)?.at(-1)?.raw ?? "";
				if (raw === undefined || !held?.trim() || NAME_BEFORE.test(last)) return undefined;
				return { type: "formula", raw, text: held.trim(), isBlock: raw.startsWith("$$") };
			},
		},
	],
});

/** Return the tokens of a text in markdown. */
export const tokensOf = (text: string) => reader.lexer(text);
