// A formula: what KaTeX makes of TeX, as elements of MathML, which the browser sets. No fonts and no styles are needed.

import { renderToString } from "katex";
import { createElement, memo, type ReactNode } from "react";

const LENGTH_MAX = 4_000; // characters
/** maxSize: in em, of a space or a rule. */
const OPTIONS = {
	output: "mathml",
	strict: "ignore",
	errorColor: "currentColor",
	maxExpand: 400,
	maxSize: 20,
} as const;
/** What names macros: one that stands for a long text, used often, would take minutes. */
const NAMES =
	/\\(?:[egx]?def|(?:re|provide)?newcommand|renewcommand|providecommand|(?:future)?let)(?![a-zA-Z])/;
const MATHML = "http://www.w3.org/1998/Math/MathML";
/** No style: the page's policy refuses it. No text beside the formula: a reader would say it twice. */
const LEFT_OUT = new Set(["style", "class", "xmlns"]);

interface FormulaProps {
	text: string;
	isBlock: boolean;
	/** What stands in place of what is no TeX. */
	raw: string;
}

export default memo(function Formula({ text, isBlock, raw }: FormulaProps) {
	return drawn(text, isBlock) ?? raw;
});

function drawn(text: string, displayMode: boolean): ReactNode {
	if (text.length > LENGTH_MAX || NAMES.test(text)) return undefined;
	try {
		const markup = renderToString(text, { ...OPTIONS, displayMode });
		const unstyled = markup.replace(/ style="[^"]*"/g, ""); // else the policy complains of it
		const parsed = new DOMParser().parseFromString(unstyled, "application/xml");
		const [math] = parsed.getElementsByTagNameNS(MATHML, "math");
		return math && elementOf(math, 0);
	} catch {
		return undefined; // no TeX, or too much of it
	}
}

function elementOf(node: Node, key: number): ReactNode {
	if (!(node instanceof Element)) return node.textContent;
	if (node.namespaceURI !== MATHML || node.localName === "annotation") return null;
	const given = [...node.attributes].filter(({ name }) => !LEFT_OUT.has(name));
	const attributes = Object.fromEntries(given.map(({ name, value }) => [name, value]));
	return createElement(node.localName, { key, ...attributes }, ...[...node.childNodes].map(elementOf));
}
