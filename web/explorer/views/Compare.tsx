// Branches side by side, from where they part.

import "../styles/compare.css";
import { ChevronLeft, GitMerge, Star, X } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { duration } from "../model/costs.ts";
import { counterpartsOf } from "../model/counterparts.ts";
import { saidAt } from "../model/forms.ts";
import { toAlternatives, toCompare, toConversation } from "../model/route.ts";
import type { Limb } from "../model/shape.ts";
import { shownOf, type BlockShown, type Shown } from "../model/shown.ts";
import { baseOf, rowsOf, wayOf, type Way } from "../model/ways.ts";
import { counted, short, titleOf, usd, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { Blocks } from "./Blocks.tsx";
import { useSides } from "./compared.ts";
import { askMerge, askPromote, may } from "./deeds.tsx";
import { Marked, useDifferences } from "./Differing.tsx";
import { Refs } from "./Outline.tsx";
import { IconPress, laneStyle, Loading, Press, Problem, Time } from "./parts.tsx";
import { useWidth } from "./rows.ts";
import { Notes } from "./Talk.tsx";

const COLUMNS_MAX = 6;
const COLUMN_MIN = 270; // pixels
const GAP = 14;

/** ids: the first one is what the others are held against. */
export function Compare({ app, ids }: { app: App; ids: readonly string[] }) {
	const { shape } = app.grove!;
	const [marks, setMarks] = useState(true);
	const [box, width] = useWidth<HTMLDivElement>();
	const limbs = useMemo(
		() => ids.flatMap((id) => shape.limbs.get(id) ?? []).filter(({ branch }) => branch),
		[shape, ids],
	);
	const base = useMemo(() => baseOf(limbs), [limbs]);
	const ways = useMemo(() => limbs.map((limb) => wayOf(limb, base?.id ?? null)), [limbs, base]);
	const shown = limbs.map(({ id }) => id);
	const ends = ways.map(({ lines }) => lines.at(-1)?.id).join();
	const { sides, problem, more, again } = useSides(app, shown, base?.id ?? null, ends);
	const key = shown.join();

	const columns = useMemo(
		() => key.split(",").map((id) => shownOf(sides.get(id)?.entries ?? [])),
		[key, sides],
	);
	const rows = rowsOf(columns);
	const hasMore = shown.some((id) => sides.get(id)?.hasMore);
	const others = [...shape.limbs.values()].filter(({ id, branch }) => branch && !shown.includes(id));
	const total = base
		? (shape.places.get(base.id)?.limb.start ?? 0) + (shape.places.get(base.id)?.index ?? 0) + 1
		: 0;
	const [first] = limbs;
	const grid = { "--n": limbs.length, minWidth: limbs.length * (COLUMN_MIN + GAP) } as React.CSSProperties;
	return (
		<main className="talk" id="main" tabIndex={-1}>
			<CompareHead
				app={app}
				id={shown[0] ?? ids[0]!}
				heading={`Compare ${counted(limbs.length, "branch", "branches")}`}
				table={toAlternatives(shown[0] ?? ids[0]!, base?.id ?? null)}
			>
				{limbs.length < COLUMNS_MAX && others.length > 0 && (
					<select
						className="b"
						aria-label="Add a branch"
						value=""
						onChange={({ target }) => app.go(toCompare([...shown, target.value]))}
					>
						<option value="">+ Add branch</option>
						{others.map(({ id, look }) => (
							<option key={id} value={id}>
								{visible(look.names[0] ?? look.label)}
							</option>
						))}
					</select>
				)}
			</CompareHead>
			<div className="cmp" ref={box} tabIndex={0} aria-label="Branches side by side" role="region">
				<div className="line same">
					<i className="dot" style={laneStyle(first?.look.lane)} />
					{base ? (
						<span>
							The same up to{" "}
							<a href={toConversation(shown[0]!, base.id)}>
								<bdi>{base.text || base.role}</bdi>
							</a>
							, {counted(total, "entry", "entries")}
						</span>
					) : (
						<span>{limbs.length > 1 ? "They share nothing." : "Nothing is said here yet."}</span>
					)}
					{limbs.length < ids.length && (
						<span className="bad">
							{counted(ids.length - limbs.length, "branch is", "branches are")} not here.
						</span>
					)}
					<span className="grow" />
					<label className="line">
						<input type="checkbox" checked={marks} onChange={({ target }) => setMarks(target.checked)} /> Mark
						what differs from
					</label>
					<select
						className="b s"
						aria-label="The branch that the others are held against"
						value={shown[0] ?? ""}
						onChange={({ target }) =>
							app.go(toCompare([target.value, ...shown.filter((id) => id !== target.value)]))
						}
					>
						{limbs.map(({ id, look }) => (
							<option key={id} value={id}>
								{visible(look.names[0] ?? look.label)}
							</option>
						))}
					</select>
				</div>
				<Split limbs={limbs} width={Math.max(width - 48, limbs.length * (COLUMN_MIN + GAP))} />
				<div className="cols" style={grid}>
					{ways.map((way, at) => (
						<ColumnHead
							key={way.limb.id}
							app={app}
							way={way}
							into={at > 0 ? first : undefined}
							takeOut={
								shown.length > 2
									? () => app.go(toCompare(shown.filter((id) => id !== way.limb.id)))
									: undefined
							}
						/>
					))}
					{rows.map((row, at) =>
						row.map((one, column) => (
							<Cell
								key={`${shown[column]} ${at}`}
								message={one}
								other={marks && column > 0 ? row[0] : undefined}
								isOver={
									!sides.get(shown[column]!)?.hasMore && rows.slice(at).every((later) => !later[column])
								}
							/>
						)),
					)}
				</div>
				{!sides.size && !problem && <Loading what="the branches" />}
				{problem !== undefined && <Problem error={problem} again={again} />}
				{hasMore && (
					<Press className="b" press={more}>
						Show more
					</Press>
				)}
			</div>
		</main>
	);
}

interface CompareHeadProps {
	app: App;
	/** The branch to which one goes back. */
	id: string;
	heading: ReactNode;
	/** The address of the other of the two views. */
	table?: string | undefined;
	sides?: string | undefined;
	children?: ReactNode;
}

/** The head of both ways to compare, with what went wrong. */
export function CompareHead({ app, id, heading, table, sides, children }: CompareHeadProps) {
	const tab = (label: string, href: string | undefined): ReactNode =>
		href ? (
			<a className="b ghost s" href={href}>
				{label}
			</a>
		) : (
			<span className="b ghost s seg" aria-current="page">
				{label}
			</span>
		);
	return (
		<>
			<header className="head">
				<a
					className="b ghost icon"
					href={toConversation(id)}
					aria-label="Back to the conversation"
					title="Back (Esc)"
				>
					<ChevronLeft />
				</a>
				<div className="grow">
					<h1 className="cut">{heading}</h1>
					<div className="line sub">
						<bdi className="cut">{titleOf(app.place!.conversation?.title)}</bdi>
					</div>
				</div>
				<nav className="line zoom" aria-label="How to compare">
					{tab("Side by side", sides)}
					{tab("Table", table)}
				</nav>
				{children}
			</header>
			<Notes app={app} />
		</>
	);
}

/** Lines from where the branches part to their columns. */
function Split({ limbs, width }: { limbs: readonly Limb[]; width: number }) {
	const each = (width - GAP * (limbs.length - 1)) / limbs.length;
	return (
		<svg className="split" aria-hidden="true" width={width} height="40">
			{limbs
				.map(({ id, look }, at) => {
					const x = at * (each + GAP) + each / 2;
					return (
						<path
							key={id}
							style={laneStyle(look.lane)}
							d={`M14 -6V8Q14 20 26 20H${x - 12}Q${x} 20 ${x} 32V41`}
						/>
					);
				})
				.reverse()}
		</svg>
	);
}

/** What a branch used since an entry, as words. */
export function factsOf({ entries, inputTokens, outputTokens, costUsd, seconds, score }: Way): string[] {
	const facts = [
		counted(entries, "entry", "entries"),
		(inputTokens > 0 || outputTokens > 0) && `${short(inputTokens)} in, ${short(outputTokens)} out`,
		costUsd > 0 && usd(costUsd),
		seconds > 0 && duration(1000 * seconds),
		score !== undefined && `score ${score}`,
	];
	return facts.filter((fact) => fact !== false);
}

interface ColumnHeadProps {
	app: App;
	way: Way;
	/** The branch that it is held against, into which it may be merged. */
	into: Limb | undefined;
	takeOut: (() => void) | undefined;
}

function ColumnHead({ app, way, into, takeOut }: ColumnHeadProps) {
	const { id, look } = way.limb;
	const mayWrite = may(app, "writer");
	return (
		<section className="colhead" style={laneStyle(look.lane)} aria-label={look.label}>
			<h2 className="cut">
				<a href={toConversation(id)} title={look.label}>
					<bdi>{way.words}</bdi>
				</a>
			</h2>
			<p className="facts">
				{factsOf(way).map((fact) => (
					<span key={fact}>{fact}</span>
				))}
			</p>
			<div className="line do">
				<Refs look={look} />
				{mayWrite && !look.isCurrent && (
					<Press className="b s" press={() => askPromote(app, id)}>
						<Star />
						Make current…
					</Press>
				)}
				{mayWrite && into && way.entries > 0 && (
					<Press
						className="b s"
						press={() => askMerge(app, id, into.id).catch(app.fail)}
						title={`Merge into “${into.look.label}”`}
					>
						<GitMerge />
						Merge…
					</Press>
				)}
				<span className="grow" />
				{takeOut && (
					<IconPress className="s" label="Take out" press={takeOut}>
						<X />
					</IconPress>
				)}
			</div>
		</section>
	);
}

interface CellProps {
	message: Shown | undefined;
	/** What it is held against. */
	other: Shown | undefined;
	/** Whether the branch has ended before. */
	isOver: boolean;
}

const isText = ({ kind }: BlockShown): boolean => kind === "text";
const wordsOf = (message: Shown | undefined): string =>
	(message?.blocks ?? [])
		.flatMap((block) => (block.kind === "text" ? block.text : []))
		.join("\n\n")
		.trim();

function Cell({ message, other, isOver }: CellProps) {
	const pieces = useDifferences(wordsOf(other), wordsOf(message));
	if (!message) return <div className="cell void">{isOver && "ended before this"}</div>;
	const { who, entries, blocks } = message;
	return (
		<article className={`cell md ${pieces === "other" ? "other" : ""}`}>
			<p className="line who">
				<bdi>{visible(who)}</bdi> <Time at={saidAt(entries[0]!)} />
			</p>
			{Array.isArray(pieces) && (
				<p className="words">
					<Marked pieces={pieces} />
				</p>
			)}
			<Blocks
				blocks={Array.isArray(pieces) ? blocks.filter((block) => !isText(block)) : blocks}
				others={other && counterpartsOf(blocks, other.blocks)}
			/>
		</article>
	);
}
