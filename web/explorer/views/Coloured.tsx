// Code in colours: what highlight.js finds in it, as elements.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { memo, type ReactNode } from "react";

const LANGUAGES = {
	bash,
	c,
	cpp,
	csharp,
	css,
	go,
	java,
	javascript,
	json,
	markdown,
	python,
	rust,
	sql,
	typescript,
	xml,
	yaml,
};
for (const [name, grammar] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, grammar);

/** The classes of the page's colours, by what a scope begins with. */
const COLOURS: [RegExp, string][] = [
	[/^(keyword|literal|built_in|type|tag|name|selector-tag)/, "hk"],
	[/^(string|regexp|char|symbol|link|code)/, "hs"],
	[/^(number)/, "hn"],
	[/^(comment|quote|meta)/, "hc"],
	[/^(title|attr|property|section|variable)/, "hf"],
];

interface Scope {
	scope?: string;
	children: (Scope | string)[];
}

export default memo(function Coloured({ language, text }: { language: string; text: string }) {
	const name = language.trim().split(/[\s:{]/)[0] ?? "";
	const known = hljs.getLanguage(name) ? name : name.split(".").at(-1); // a file's name, too
	if (!known || !hljs.getLanguage(known)) return text;
	const { _emitter } = hljs.highlight(text, { language: known, ignoreIllegals: true });
	return inScope((_emitter as unknown as { rootNode: Scope }).rootNode, 0);
});

function inScope(node: Scope | string, key: number): ReactNode {
	if (typeof node === "string") return node;
	const held = node.children.map(inScope);
	const colour = COLOURS.find(([begins]) => begins.test(node.scope ?? ""))?.[1];
	return colour ? (
		<span key={key} className={colour}>
			{held}
		</span>
	) : (
		held
	);
}
