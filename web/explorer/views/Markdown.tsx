// Markdown as elements. What looks like HTML in it is text.

import type { Token, Tokens } from "marked";
import { createElement, lazy, memo, Suspense, type ReactNode } from "react";
import { tokensOf, type Formula as Read } from "../model/formulas.ts";
import { visible } from "../model/words.ts";

import { Code } from "./Code.tsx";
import { Boundary, inTime, Outside } from "./parts.tsx";

const Formula = lazy(() => inTime(() => import("./Formula.tsx")));

interface MarkdownProps {
	text: string;
	/** Stands behind the last words, as a caret does. */
	end?: ReactNode;
}

export default memo(function Markdown({ text, end }: MarkdownProps) {
	const tokens = tokensOf(visible(text));
	const last = tokens.findLastIndex(({ type }) => type !== "space");
	const isInline = ["paragraph", "text"].includes(tokens[last]?.type ?? "");
	return (
		<>
			{tokens.map((token, at) => blockOf(token, at, isInline && at === last ? end : undefined))}
			{!isInline && end}
		</>
	);
});

const LEFTWARD = /^[\p{scx=Hebr}\p{scx=Arab}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}]/u;

/** Return how a list or a quotation is written, whose parts have `dir="auto"`, which says nothing for the whole. */
function dirOf(text: string): "rtl" | "ltr" | undefined {
	const said = text.replace(/\[[ xX]\]/g, "").replace(/^\P{L}+/u, "");
	return said === "" ? undefined : LEFTWARD.test(said) ? "rtl" : "ltr";
}

function blockOf(token: Token, key: number, end?: ReactNode): ReactNode {
	switch (token.type) {
		case "space":
		case "def":
			return null;
		case "hr":
			return <hr key={key} />;
		case "heading":
			// One level for all: others would leave levels out, as their authors do.
			return (
				<h3 key={key} className={`depth-${(token as Tokens.Heading).depth}`} dir="auto">
					{inline((token as Tokens.Heading).tokens)}
				</h3>
			);
		case "code":
			return (
				<Code key={key} language={(token as Tokens.Code).lang ?? ""} text={(token as Tokens.Code).text} />
			);
		case "blockquote":
			return (
				<blockquote key={key} dir={dirOf(token.raw)}>
					{token.tokens?.map((one, at) => blockOf(one, at))}
				</blockquote>
			);
		case "list": {
			const { ordered, start, items } = token as Tokens.List;
			const rows = items.map((item, at) => (
				<li key={at} className={item.task ? "task" : undefined}>
					{item.tokens.map((one, index) =>
						one.type === "text" ? (
							<span key={index} dir="auto">
								{inlineOf(one, index)}
							</span>
						) : one.type === "checkbox" ? (
							inlineOf(one, index)
						) : (
							blockOf(one, index)
						),
					)}
				</li>
			));
			return ordered ? (
				<ol key={key} dir={dirOf(token.raw)} start={start === "" ? 1 : start}>
					{rows}
				</ol>
			) : (
				<ul key={key} dir={dirOf(token.raw)}>
					{rows}
				</ul>
			);
		}
		case "formula":
			return (
				<div key={key} className="formula" tabIndex={0} role="group" aria-label="Formula">
					<Drawn {...(token as Read)} />
				</div>
			);
		case "table":
			return <Table key={key} {...(token as Tokens.Table)} />;
		case "html":
			return (
				<p key={key} className="as-is">
					{token.raw}
				</p>
			);
		default:
			return (
				<p key={key} dir="auto">
					{inlineOf(token, 0)}
					{end}
				</p>
			);
	}
}

/** A formula; while what draws it is loaded, as it is written. */
const Drawn = ({ text, isBlock, raw }: Read) => (
	<Boundary fallback={raw}>
		<Suspense fallback={raw}>
			<Formula {...{ text, isBlock, raw }} />
		</Suspense>
	</Boundary>
);

function Table({ header, rows }: Tokens.Table) {
	const cell = ({ align, tokens }: Tokens.TableCell, at: number, tag: "th" | "td") =>
		createElement(tag, { key: at, className: align === "right" ? "n" : undefined }, inline(tokens));
	return (
		<div className="wide" tabIndex={0} role="group" aria-label="Table">
			<table>
				<thead>
					<tr>{header.map((one, at) => cell(one, at, "th"))}</tr>
				</thead>
				<tbody>
					{rows.map((row, at) => (
						<tr key={at}>{row.map((one, index) => cell(one, index, "td"))}</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

const inline = (tokens: Token[] | undefined): ReactNode[] | undefined => tokens?.map(inlineOf);

function inlineOf(token: Token, key: number): ReactNode {
	switch (token.type) {
		case "strong":
		case "em":
		case "del":
			return createElement(token.type, { key }, inline(token.tokens));
		case "codespan":
			return <code key={key}>{(token as Tokens.Codespan).text}</code>;
		case "br":
			return <br key={key} />;
		case "escape":
			return (token as Tokens.Escape).text;
		case "formula":
			return <Drawn key={key} {...(token as Read)} />;
		case "checkbox":
			return (
				<input
					key={key}
					type="checkbox"
					checked={(token as Tokens.Checkbox).checked}
					disabled
					aria-label="Task"
				/>
			);
		case "link": {
			const { href, tokens } = token as Tokens.Link;
			if (!/^(https?|mailto):/i.test(href)) return inline(tokens);
			return (
				<Outside key={key} href={href}>
					{inline(tokens)}
				</Outside>
			);
		}
		case "image": {
			const { href, text } = token as Tokens.Image;
			if (/^data:image\//i.test(href)) return <img key={key} src={href} alt={text} />;
			const label = `image: ${text || href}`;
			return /^https?:/i.test(href) ? (
				<Outside key={key} href={href}>
					{label}
				</Outside>
			) : (
				label
			);
		}
		default:
			return inline((token as Tokens.Text).tokens) ?? (token as Tokens.Text).text ?? token.raw;
	}
}
