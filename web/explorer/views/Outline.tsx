// The tree beside the conversation: a row for each entry, read downwards, and a lane for each branch.

import { ChevronRight, X } from "lucide-react";
import { memo, useEffect, useId, useMemo, useRef, useState } from "react";
import { filterOf, saysOf } from "../model/filter.ts";
import { outlineOf, type Outline as Drawing, type Row, type Stroke } from "../model/outline.ts";
import { rootward, shownBy, type Limb, type Shape } from "../model/shape.ts";
import { toConversation } from "../model/route.ts";
import type { Line, Look } from "../model/types.ts";
import { counted, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { BranchName, FilterField, laneStyle, Press, Time } from "./parts.tsx";
import { stepped, usePhone, useRows, useWidth } from "./rows.ts";

const LEFT = 19; // of the first lane
const GAP = { least: 7, most: 18 }; // between two lanes
const LANES_SHARE = 0.45; // of the width, before lanes come closer to each other
const BEND = 15;

/** Return the branch in which an entry is opened: the open one, else its own, else one that goes on from it. */
function showing(
	shape: Shape,
	openId: string,
	{ limb, line }: { limb: Limb; line: Line },
): string | undefined {
	const shows = (one: Limb): boolean => shownBy(one).some(({ id }) => id === line.id);
	const open = shape.limbs.get(openId);
	const found = [open, limb, ...shape.limbs.values()].find((one) => one?.branch && shows(one));
	return found?.id;
}

export function Outline({ app }: { app: App }) {
	const { id: openId, chosen: entryId } = app.place!;
	const { shape, isWhole, marked } = app.grove!;
	const { children } = app.grove!.tree;
	const name = useId();
	const [query, setQuery] = useState("");
	const [folds, setFolds] = useState(true);
	const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
	const toggle = (key: string): void => setToggled((before) => before.symmetricDifference(new Set([key])));
	const height = usePhone() ? 40 : 29;

	const limb = shape.limbs.get(openId);
	const chosen = entryId ?? limb?.own.at(-1)?.id ?? limb?.after?.line.id ?? "";
	const path = useMemo(() => new Set(shownBy(limb).map(({ id }) => id)), [limb]);
	const limbs = useMemo(() => new Set(rootward(limb)), [limb]);
	const drawing = useMemo(() => {
		const says = query.trim() ? saysOf(query) : () => false;
		const found = [...shape.places.values()].filter(({ line }) => says(line)).map(({ line }) => line.id);
		const kept = new Set([chosen, ...found, ...marked]);
		return outlineOf(shape, { folds, kept, toggled, fits: filterOf(query), children });
	}, [shape, query, folds, toggled, chosen, children, marked]);
	const { rows, rowOf, lanes } = drawing;
	const chosenRow = rowOf.get(limb && !limb.own.length ? openId : chosen) ?? -1;
	const wasLoading = useRef(!isWhole);
	useEffect(() => void (wasLoading.current = !isWhole));
	const kept = wasLoading.current ? rows[chosenRow]?.key : undefined;
	const { box, first, end, slots, look, reveal } = useRows(rows, height, { kept });
	const [, width] = useWidth(box);

	const [activeKey, setActive] = useState("");
	const active = rowOf.get(activeKey) ?? Math.max(0, chosenRow);
	useEffect(() => {
		setActive("");
		if (chosenRow >= 0) reveal(chosenRow, "middle");
		// What is open comes into view once, not whenever rows come above it.
	}, [openId, chosen, chosenRow >= 0]);

	const gap = Math.max(GAP.least, Math.min(GAP.most, (LANES_SHARE * width) / Math.max(1, lanes)));
	const open = (id: string, at?: string): void => {
		app.showView("talk");
		app.go(toConversation(id, at));
	};
	const go = (row: number): void => {
		setActive(rows[row]!.key);
		reveal(row);
		const x = LEFT + rows[row]!.lane * gap;
		const { scrollLeft, clientWidth } = box.current!;
		if (x < scrollLeft || x > scrollLeft + clientWidth / 2) box.current!.scrollLeft = x - clientWidth / 2;
	};
	const press = (row: number, isBranch = false): void => {
		const one = rows[row];
		if (!one) return;
		setActive(one.key);
		if (one.kind === "run" || one.kind === "folded") unfold(one);
		else if (one.child) open(one.child.id);
		else if (isBranch || !one.line) open(one.limb.id);
		else {
			const id = showing(shape, openId, { limb: one.limb, line: one.line });
			if (id) open(id, one.line.id);
		}
	};
	const onClick = (event: React.MouseEvent): void => {
		const target = event.target as Element;
		const row = Number(target.closest<HTMLElement>("[data-row]")?.dataset.row ?? NaN);
		if (rows[row] && target.closest(".fold")) fold(rows[row].limb.id);
		else press(row, event.shiftKey);
	};
	const onKeyDown = (event: React.KeyboardEvent): void => {
		if (event.altKey || event.ctrlKey || event.metaKey || !rows[active]) return;
		const row = rows[active];
		const page = Math.floor(box.current!.clientHeight / height) - 1;
		const to = stepped(event.key, active, rows.length, page);
		const isFolded = row.kind === "run" || row.kind === "folded";
		if (to !== undefined) go(to);
		else if (event.key === "Enter") press(active, event.shiftKey);
		else if (event.key === "ArrowRight") {
			if (isFolded) unfold(row);
			else go(Math.min(rows.length - 1, active + 1));
		} else if (event.key === "ArrowLeft") {
			if (row.run) fold(row.run);
			else if (!row.isFirst) go(rowOf.get(row.limb.own[0]?.id ?? row.limb.id)!);
			else if (row.kind === "entry" && row.limb.after) fold(row.limb.id);
			else if (row.limb.after) go(rowOf.get(row.limb.after.line.id)!);
		} else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const unfold = ({ key, line, limb }: Row): void => {
		toggle(key);
		setActive(line?.id ?? limb.own[0]?.id ?? limb.id);
	};
	const fold = (key: string): void => {
		toggle(key);
		setActive(key);
	};

	const forks = [...shape.limbs.values()].filter(({ branch }) => branch);
	const names = forks.reduce((sum, { look: { names } }) => sum + names.length, 0);
	const merges = drawing.strokes.filter(({ kind }) => kind === "merge").length;
	const facts = [
		counted(forks.length, "branch", "branches"),
		names > 0 && counted(names, "name"),
		merges > 0 && counted(merges, "merge"),
		!isWhole && "loading older entries…",
	];
	const visibleRows = rows.slice(first, end).map((row, at) => ({ row, at: first + at }));
	if (rows[active] && (active < first || active >= end)) visibleRows.push({ row: rows[active], at: active });
	const sheet = { height: rows.length * height, minWidth: LEFT + lanes * gap + 180 };
	return (
		<>
			<div className="line bar">
				<FilterField query={query} filter={setQuery} />
				<Press
					className="b ghost s"
					aria-pressed={folds}
					press={() => setFolds(!folds)}
					title="Show runs of entries without forks as one row"
				>
					Folded
				</Press>
				{marked.size > 0 && (
					<Press className="b ghost s" press={() => app.grove!.mark([])} title="Let nothing glow any more">
						{marked.size} found <X />
					</Press>
				)}
			</div>
			<div
				className="tree"
				role="tree"
				aria-label="Fork tree"
				tabIndex={0}
				aria-activedescendant={rows[active] ? `${name}${active}` : undefined}
				ref={box}
				onScroll={look}
				onKeyDown={onKeyDown}
				onClick={onClick}
			>
				<div className="sheet" role="none" style={sheet}>
					<Lanes {...{ drawing, first, end, height, gap, path, limbs, marked }} />
					{visibleRows.map(({ row, at }) => (
						<TreeRow
							key={at < first || at >= end ? "active" : at % slots}
							id={`${name}${at}`}
							row={row}
							top={at * height}
							at={at}
							count={rows.length}
							pad={LEFT + row.clear * gap + (row.clear > row.lane ? 6 : 14)}
							isOnPath={path.has(row.line?.id ?? "")}
							isChosen={at === chosenRow}
							isActive={at === active}
							isMarked={marked.has(row.line?.id ?? "")}
						/>
					))}
				</div>
				{!rows.length && (
					<p className="quiet none">{query ? "No branch fits." : "Nothing is said here yet."}</p>
				)}
			</div>
			<div className="line legend">
				<span role="status">{facts.filter(Boolean).join(", ")}</span>
				<span className="grow" />
				<span className="hidenarrow">
					<kbd>↑</kbd> <kbd>↓</kbd> move <kbd>←</kbd> fold <kbd>↵</kbd> open
				</span>
			</div>
		</>
	);
}

interface TreeRowProps {
	id: string;
	row: Row;
	at: number;
	count: number;
	top: number;
	pad: number;
	isOnPath: boolean;
	isChosen: boolean;
	isActive: boolean;
	isMarked: boolean;
}

/** Return whether an answer is being written at the end of a branch. */
export const isLive = ({ branch }: Limb): boolean =>
	branch?.answering !== undefined && (branch.answering.state ?? "open") === "open";

const TreeRow = memo(function TreeRow({
	id,
	row,
	at,
	count,
	top,
	pad,
	isOnPath,
	isChosen,
	isActive,
	isMarked,
}: TreeRowProps) {
	const { kind, limb, line, child, isFirst, isTip, entries, branches } = row;
	const { look } = limb;
	const canFold = kind === "entry" && isFirst && limb.after !== undefined;
	const isFolded = kind === "run" || kind === "folded";
	const text = {
		entry: line?.text || line?.role || "",
		run: counted(entries, "entry", "entries"),
		folded: `${look.label}`,
		blank: look.label,
		child: child?.title ?? "",
	}[kind];
	const time = line && kind === "entry" ? line.at : kind === "blank" ? limb.branch?.createdAt : undefined;
	const isNow = isTip && isLive(limb);
	return (
		<div
			id={id}
			role="treeitem"
			aria-level={limb.depth + 1}
			aria-posinset={at + 1}
			aria-setsize={count}
			aria-selected={isChosen}
			aria-expanded={canFold ? true : isFolded ? false : undefined}
			className={`line tr ${isOnPath ? "path" : ""} ${isActive ? "active" : ""} ${isMarked ? "hit" : ""}`}
			style={{ ...laneStyle(look.lane), transform: `translateY(${top}px)`, paddingLeft: pad }}
			data-row={at}
		>
			<span className="sr">
				{isMarked && "found: "}
				{nameOf(row)}
			</span>
			{kind === "run" ? (
				<span className="more">{text}</span>
			) : (
				<span
					className={`cut ${line?.failed ? "bad" : ""} ${kind === "blank" ? "lbl quiet" : isFirst && limb.after ? "lbl" : ""}`}
				>
					{child?.agentId && <b>{visible(child.agentId)} </b>}
					<bdi className={child ? "quiet" : ""}>{visible(text)}</bdi>
				</span>
			)}
			{kind === "folded" && (
				<span className="more">
					{counted(branches, "branch", "branches")}, {entries}
				</span>
			)}
			{isTip && <Refs look={look} />}
			{isNow ? <time className="now">now</time> : time ? <Time at={time} /> : <time />}
			{canFold && (
				<button type="button" className="fold" tabIndex={-1} aria-hidden="true" title="Fold this branch (←)">
					<ChevronRight />
				</button>
			)}
		</div>
	);
});

/** The names that point to a branch, and whether it is the current one. */
export const Refs = ({ look }: { look: Look }) =>
	look.names.length || look.isCurrent ? <BranchName look={{ ...look, label: "current" }} /> : null;

/** Return what a screen reader says of a row before what stands there. */
function nameOf({ kind, limb: { look, branch }, line }: Row): string {
	const place = `${branch ? "branch " : ""}${look.label}${look.isCurrent ? ", current" : ""}`;
	if (kind === "child") return `child of ${place}: `;
	if (kind === "folded") return "folded, branch ";
	if (kind === "blank") return "no entries of its own, branch ";
	if (kind === "run" || !line) return `${place}: `;
	return visible(`${line.role}, ${line.agentId ?? line.userId}, ${place}: `);
}

interface LanesProps {
	drawing: Drawing;
	first: number;
	end: number;
	height: number;
	gap: number;
	/** Ids of the entries that the open branch shows, and the branches that they are of. */
	path: ReadonlySet<string>;
	limbs: ReadonlySet<Limb>;
	/** Ids of the entries that glow. */
	marked: ReadonlySet<string>;
}

/** The lines and nodes of the rows in view. */
const Lanes = memo(function Lanes({
	drawing: { rows, strokes, lanes },
	first,
	end,
	height,
	gap,
	path,
	limbs,
	marked,
}: LanesProps) {
	const x = (lane: number): number => LEFT + lane * gap;
	const y = (row: number): number => (Math.max(-2, Math.min(end - first + 1, row - first)) + 0.5) * height;
	const inView = strokes.filter(({ from, to }) => to >= first && from < end);
	const isStraight = ({ kind, fromLane, toLane }: Stroke): boolean => kind !== "merge" && fromLane === toLane;
	const layers = [
		inView.filter(({ kind, fromLane, toLane }) => kind === "bend" && fromLane !== toLane).reverse(),
		inView.filter(isStraight),
		inView.filter(({ kind }) => kind === "merge"),
	];
	const line = (stroke: Stroke): React.ReactNode => {
		const { kind, limb, from, to } = stroke;
		const isBold =
			kind !== "merge" && limbs.has(limb) && (kind === "bend" || path.has(rows[to]?.line?.id ?? ""));
		const [x0, x1, top, bottom] = [x(stroke.fromLane), x(stroke.toLane), y(from), y(to)];
		const bend = Math.min(BEND, x1 - x0);
		const side = x(stroke.lane) - 3;
		const shape = isStraight(stroke)
			? `M${x0} ${top}V${bottom}`
			: kind === "bend"
				? `M${x0} ${top}V${bottom - BEND}Q${x0} ${bottom} ${x0 + bend} ${bottom}H${x1}`
				: `M${x0} ${top}C${x0} ${top + height / 2} ${side} ${top + height / 4} ${side} ${top + height}V${bottom - BEND}Q${side} ${bottom} ${side - BEND} ${bottom}H${x1}`;
		return (
			<path
				key={`${kind}${limb.id}${from}`}
				className={`${kind} ${isBold ? "bold" : ""} ${limb.branch ? "" : "gone"}`}
				style={laneStyle(limb.look.lane)}
				d={shape}
			/>
		);
	};
	return (
		<svg
			className="g"
			aria-hidden="true"
			width={x(lanes)}
			height={(end - first) * height}
			style={{ transform: `translateY(${first * height}px)` }}
		>
			{layers.flat().map(line)}
			{rows.slice(first, end).map((row, at) => (
				<g
					key={row.key}
					style={laneStyle(row.limb.look.lane)}
					transform={`translate(${x(row.lane)} ${y(first + at)})`}
				>
					{marked.has(row.line?.id ?? "") && <circle className="glow" r="9" />}
					<Node row={row} gap={gap} height={height} />
				</g>
			))}
		</svg>
	);
});

function Node({
	row: { kind, line, limb, isTip, isMerge },
	gap,
	height,
}: {
	row: Row;
	gap: number;
	height: number;
}) {
	if (kind === "child")
		return (
			<>
				<path className="child" d={`M${-gap} ${-height}Q${-gap} 0 0 0`} />
				<rect x="-4.5" y="-4.500" width="9" height="9" rx="2" />
			</>
		);
	if (kind === "run" || kind === "folded")
		return (
			<>
				<circle className="blank" r="6" />
				<path className="dots" d="M0 -4v.1M0 0v.1M0 4v.1" />
			</>
		);
	if (isTip && isLive(limb))
		return (
			<>
				<circle className="glow" r="9" />
				<circle className="live" r="5.5" />
			</>
		);
	return (
		<>
			<circle className={kind === "blank" ? "hollow" : line?.role === "user" ? "full" : ""} r="4.6" />
			{isMerge && <circle className="full" r="1.8" />}
		</>
	);
}
