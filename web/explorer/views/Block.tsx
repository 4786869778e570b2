// A piece of what a message says: words, thoughts, an image, a file, JSON.

import { FileText } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import type { Block, Media as MediaBlock } from "../model/parts.ts";
import { clipped, counted, visible } from "../model/words.ts";
import { Attached } from "./Attached.tsx";
import { JsonTree } from "./JsonTree.tsx";
import { Boundary, inTime, Outside, Press } from "./parts.tsx";

const Markdown = lazy(() => inTime(() => import("./Markdown.tsx")));

const FOLDED = 3_000; // characters of a text that are shown at first
const READ_MAX = 200_000; // a longer text is shown as it is, without its marks

export function OneBlock({ block }: { block: Block }) {
	switch (block.kind) {
		case "text":
			return <Words text={block.text} />;
		case "reasoning":
			return block.text ? (
				<details className="thought">
					<summary>Thoughts</summary>
					<Words text={block.text} />
				</details>
			) : (
				<p className="thought">Thoughts, which the provider keeps sealed</p>
			);
		case "image":
		case "file":
			return block.file ? <Attached file={block.file} /> : <Media {...block} />;
		case "json":
			return (
				<details className="stored">
					<summary>{visible(block.label)}</summary>
					<JsonTree value={block.value} />
				</details>
			);
		default:
			return null;
	}
}

/** A text with its marks. Of a long one the beginning, until one asks for all. */
export function Words({ text, end }: { text: string; end?: ReactNode }) {
	const [isWhole, setWhole] = useState(text.length <= FOLDED * 1.25);
	const cut = text.slice(0, FOLDED);
	const shown = isWhole ? text : cut.slice(0, Math.max(cut.lastIndexOf("\n"), FOLDED / 2));
	const plain = (
		<p className="as-is" dir="auto">
			{visible(shown)}
		</p>
	);
	return (
		<>
			{shown.length > READ_MAX ? (
				plain
			) : (
				<Boundary fallback={plain}>
					<Suspense fallback={plain}>
						<Markdown text={shown} end={end} />
					</Suspense>
				</Boundary>
			)}
			{!isWhole && (
				<Press className="b s" press={() => setWhole(true)}>
					Show {counted(text.length - shown.length, "more character")}
				</Press>
			)}
		</>
	);
}

/** What a tool has returned: as it is, not as somebody's words. */
export const Output = ({ blocks }: { blocks: readonly Block[] }) =>
	blocks.length ? (
		blocks.map((one, at) =>
			one.kind === "text" ? (
				<Plain key={at} text={one.text} />
			) : one.kind === "json" ? (
				<JsonTree key={at} value={one.value} />
			) : (
				<OneBlock key={at} block={one} />
			),
		)
	) : (
		<span className="quiet">nothing</span>
	);

export function Plain({ text }: { text: string }) {
	const [most, setMost] = useState(4_000);
	const left = text.length - most;
	return (
		<>
			<pre dir="auto">{visible(clipped(text, most))}</pre>
			{left > 0 && (
				<Press className="b s" press={() => setMost(most + READ_MAX)}>
					Show {counted(Math.min(left, READ_MAX), "more character")}
				</Press>
			)}
		</>
	);
}

/** Images that stand in the entry are shown. What is elsewhere is a link: the page asks no other server for anything. */
function Media({ kind, href, name, type }: MediaBlock) {
	if (kind === "image" && href && /^data:image\/[a-z0-9.+-]+[;,]/i.test(href))
		return (
			<figure className="pic">
				<img src={href} alt={visible(name)} />
				<figcaption>{visible(name)}</figcaption>
			</figure>
		);
	const label = [name, type].filter(Boolean).join(" · ");
	const isWeb = href !== undefined && /^https?:\/\//i.test(href);
	return (
		<p className="line file">
			<FileText />
			{isWeb ? <Outside href={href}>{visible(label)}</Outside> : <bdi>{visible(label)}</bdi>}
			{isWeb && <span className="quiet cut">{visible(hostOf(href))}</span>}
		</p>
	);
}

function hostOf(href: string): string {
	try {
		return new URL(href).host;
	} catch {
		return "";
	}
}
