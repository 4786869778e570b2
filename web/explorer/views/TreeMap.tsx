// The tree at full size: one row a branch, what it cost and is worth beside it, and all of it small at the right.

import "../styles/map.css";
import { Check, ChevronLeft, ChevronRight, Columns2, Minus, Plus } from "lucide-react";
import { memo, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { filterOf } from "../model/filter.ts";
import { mapOf, ticksOf, type Column, type MapRow } from "../model/map.ts";
import { rootward, scoreOf, sumOf, type Limb } from "../model/shape.ts";
import { toCompare, toConversation } from "../model/route.ts";
import { counted, shortTime, titleOf, usd } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { askPromote, may } from "./deeds.tsx";
import { Minimap } from "./Minimap.tsx";
import { isLive, Refs } from "./Outline.tsx";
import { FilterField, IconPress, laneStyle, Press } from "./parts.tsx";
import { Notes } from "./Talk.tsx";
import { stepped, usePhone, useRows, useWidth } from "./rows.ts";

const LEFT = 18;
const HEAD = 30;
const UNIT = 9.4; // pixels from one entry to the next, at most
const SHARE = 0.36; // of the width for the lines
const COMPARED_MAX = 6;
const COLUMNS: readonly [Column, string][] = [
	["score", "Score"],
	["entries", "Entries"],
	["costUsd", "Cost"],
	["last", "Last"],
];

export function TreeMap({ app }: { app: App }) {
	const { shape } = app.grove!;
	const openId = app.place!.id;
	const name = useId();
	const [query, setQuery] = useState("");
	const [least, setLeast] = useState(0);
	const [sort, setSort] = useState<{ by: Column; down: boolean }>();
	const [zoom, setZoom] = useState(1);
	const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
	const [picked, setPicked] = useState<readonly string[]>([]);
	const [chosen, setChosen] = useState(openId);
	const [hovered, setHovered] = useState<{ index: number; top: number; left: number }>();
	const tree = useRef<HTMLDivElement>(null);
	const field = useRef<HTMLInputElement>(null);
	const isPhone = usePhone();
	const height = isPhone ? 40 : 27;

	const { limbs } = shape;
	const ids = useMemo(() => [...limbs.values()].flatMap(({ branch, id }) => (branch ? id : [])), [limbs]);
	const hasScores = useMemo(() => [...limbs.values()].some((limb) => scoreOf(limb) !== undefined), [limbs]);
	const rows = useMemo(() => {
		const filter = filterOf(query);
		const fits = (limb: Limb): boolean =>
			(!least || (scoreOf(limb) ?? -Infinity) >= least) && (!filter || filter(limb));
		return mapOf(shape, { fits, chosen, opened, sort });
	}, [shape, query, least, chosen, opened, sort]);
	const { box, first, end, slots, look, reveal } = useRows(rows, height, { head: HEAD });
	const [, width] = useWidth(box);
	const rowOf = (key: string): number => rows.findIndex((row) => row.key === key);
	const [activeKey, setActive] = useState(openId);
	const active = Math.max(0, rowOf(activeKey), activeKey === openId ? rowOf(chosen) : -1);
	const path = useMemo(() => new Set(rootward(limbs.get(chosen))), [limbs, chosen]);

	useLayoutEffect(() => reveal(rowOf(openId), "middle"), []);
	useLayoutEffect(() => tree.current!.focus({ preventScroll: true }), []);

	const longest = useMemo(
		() => Math.max(1, ...[...limbs.values()].map(({ start, own }) => start + own.length)),
		[limbs],
	);
	const unit = Math.min(UNIT, (width * SHARE - 2 * LEFT) / longest) * zoom;
	const graph = isPhone ? Math.min(150, width * 0.45) : Math.max(120, LEFT + unit * longest + 24);
	const scale = isPhone ? (graph - 2 * LEFT) / longest : unit;

	const pick = (key: string): void =>
		setPicked((all) =>
			all.includes(key) ? all.filter((one) => one !== key) : [...all, key].slice(-COMPARED_MAX),
		);
	const unfold = (key: string): void => setOpened((all) => new Set([...all, key]));
	const go = (row: number): void => {
		setActive(rows[row]!.key);
		reveal(row);
	};
	const choose = (row: number): void => {
		setActive(rows[row]!.key);
		if (rows[row]!.folded) unfold(rows[row]!.key);
		else setChosen(rows[row]!.key);
	};
	const enter = (row: number): void =>
		rows[row]!.folded ? unfold(rows[row]!.key) : app.go(toConversation(rows[row]!.key));
	const onKeyDown = (event: React.KeyboardEvent): void => {
		const row = rows[active];
		if (event.altKey || event.ctrlKey || event.metaKey || !row) return;
		const to = stepped(event.key, active, rows.length, Math.floor(box.current!.clientHeight / height) - 2);
		const keys: Record<string, () => unknown> = {
			Enter: () => enter(active),
			" ": () => choose(active),
			c: () => pick(row.limb.id),
			p: () => row.limb.branch && may(app, "writer") && askPromote(app, row.limb.id),
			ArrowLeft: () => go(Math.max(0, row.parent)),
			ArrowRight: () =>
				row.folded
					? unfold(row.key)
					: go(
							Math.max(
								active,
								rows.findIndex(({ parent }) => parent === active),
							),
						),
			"+": () => setZoom(Math.min(8, zoom * 1.5)),
			"-": () => setZoom(Math.max(1, zoom / 1.5)),
			"/": () => field.current!.focus(),
		};
		if (to !== undefined) go(to);
		else if (keys[event.key]) keys[event.key]!();
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const at = (event: React.SyntheticEvent): number =>
		Number((event.target as Element).closest<HTMLElement>("[data-row]")?.dataset.row ?? NaN);
	const onClick = (event: React.MouseEvent): void => {
		const row = at(event);
		if (!rows[row]) return;
		const has = (selector: string): boolean => (event.target as Element).closest(selector) !== null;
		if (has(".pick")) pick(rows[row].limb.id);
		else if (has(".enter") || event.detail > 1) enter(row);
		else choose(row);
	};
	const onMouseOver = (event: React.MouseEvent): void => {
		const row = at(event);
		if (isPhone || !rows[row] || rows[row].folded) return setHovered(undefined);
		const shown = (event.target as Element).closest("[data-row]")!;
		const { top, bottom } = shown.getBoundingClientRect();
		// At the end of the column of names, which are shorter.
		const left = shown.querySelector(".name")!.getBoundingClientRect().right - 336;
		setHovered({ index: row, left, top: bottom + 150 > innerHeight ? top - 140 : bottom + 6 });
	};
	const moveFrame = useRef<(top: number) => void>(() => undefined);
	const onScroll = (): void => {
		const { scrollTop } = box.current!; // read before anything is drawn: then it costs no layout
		look();
		moveFrame.current(scrollTop);
	};
	const sortBy = (by: Column): void =>
		setSort(sort?.by !== by ? { by, down: true } : sort.down ? { by, down: false } : undefined);

	const cost = sumOf([...shape.places.values()].map(({ line }) => line)).costUsd;
	const shown = rows.filter((row) => row.fits && !row.folded).length;
	const compared = picked.length > 1 ? picked : [...new Set([...picked, chosen])];
	const drawn = rows.slice(first, end).map((row, index) => ({ row, index: first + index }));
	if (rows[active] && (active < first || active >= end)) drawn.push({ row: rows[active], index: active });
	const style = { "--gw": `${graph}px`, "--score": hasScores ? "104px" : "0px" } as React.CSSProperties;
	return (
		<main className="map" id="main" tabIndex={-1}>
			<header className="line">
				<a
					className="b ghost icon"
					href={toConversation(openId)}
					aria-label="Back to the conversation"
					title="Back (Esc)"
				>
					<ChevronLeft />
				</a>
				<h1 className="cut">
					<bdi>{titleOf(app.place!.conversation?.title)}</bdi>
				</h1>
				<span className="quiet hidenarrow" role="status">
					{counted(ids.length, "branch", "branches")}
					{cost > 0 && `, ${usd(cost)}`}
					{shown < rows.length && `, ${shown} shown`}
				</span>
				<span className="grow" />
				<FilterField field={field} query={query} filter={setQuery} />
				{hasScores && (
					<label className="line least hidenarrow">
						score over
						<input
							type="range"
							min="0"
							max="1"
							step="0.05"
							value={least}
							onChange={({ target }) => setLeast(target.valueAsNumber)}
							aria-label="Least score"
						/>
						<output>{least.toFixed(2)}</output>
					</label>
				)}
				<span className="line zoom hidenarrow">
					<IconPress className="s" label="Smaller (-)" press={() => setZoom(Math.max(1, zoom / 1.5))}>
						<Minus />
					</IconPress>
					{Math.round(zoom * 100)} %
					<IconPress className="s" label="Larger (+)" press={() => setZoom(Math.min(8, zoom * 1.5))}>
						<Plus />
					</IconPress>
				</span>
				<Press
					className="b hidenarrow"
					disabled={compared.length < 2}
					title="Choose two to six branches by their dots, or with C"
					press={() => app.go(toCompare(compared))}
				>
					<Columns2 />
					Compare{compared.length > 1 && ` ${compared.length}`}
				</Press>
			</header>
			<Notes app={app} />
			<div className="mapbody" style={style}>
				<div className="mapscroll" ref={box} onScroll={onScroll}>
					<div className="mh">
						<span className="scale" aria-hidden="true">
							{ticksOf(longest, graph / 90).map((tick) => (
								<em key={tick} style={{ left: LEFT + (tick - 1) * scale }}>
									{tick}
								</em>
							))}
						</span>
						<span>Branch</span>
						{COLUMNS.map(([by, label]) => (
							<span key={by} className={by}>
								<button
									type="button"
									onClick={() => sortBy(by)}
									aria-pressed={sort?.by === by}
									title={`Sort by ${label.toLowerCase()}`}
								>
									{label}
									{sort?.by === by && (sort.down ? " ↓" : " ↑")}
								</button>
							</span>
						))}
					</div>
					<div
						ref={tree}
						className="sheet"
						role="tree"
						aria-label={`Fork tree, ${counted(ids.length, "branch", "branches")}`}
						tabIndex={0}
						aria-activedescendant={rows[active] ? `${name}${active}` : undefined}
						style={{ height: rows.length * height }}
						{...{ onKeyDown, onClick, onMouseOver }}
						onMouseLeave={() => setHovered(undefined)}
					>
						<svg className="g" aria-hidden="true" width={graph} height="1">
							<Lines {...{ rows, first, end, height, scale, path, chosen }} />
						</svg>
						{drawn.map(({ row, index }) => (
							<MapRowView
								key={index < first || index >= end ? "active" : index % slots}
								id={`${name}${index}`}
								row={row}
								index={index}
								count={rows.length}
								height={height}
								isOnPath={path.has(row.limb) && !row.folded}
								isChosen={row.key === chosen}
								isActive={index === active}
								isPicked={!row.folded && picked.includes(row.key)}
							/>
						))}
					</div>
					{!rows.length && <p className="quiet none">No branch fits.</p>}
				</div>
				<Minimap
					frameRef={moveFrame}
					rows={rows}
					longest={longest}
					path={path}
					box={box}
					rowsHeight={rows.length * height + HEAD}
				/>
			</div>
			{hovered && rows[hovered.index] && (
				<Tip
					row={rows[hovered.index]!}
					top={hovered.top}
					left={hovered.left}
					canPromote={may(app, "writer")}
				/>
			)}
		</main>
	);
}

interface MapRowViewProps {
	id: string;
	row: MapRow;
	index: number;
	count: number;
	height: number;
	isOnPath: boolean;
	isChosen: boolean;
	isActive: boolean;
	isPicked: boolean;
}

const MapRowView = memo(function MapRowView({ id, row, index, count, height, ...is }: MapRowViewProps) {
	const { limb, folded, facts, fits } = row;
	const place = {
		id,
		role: "treeitem",
		"data-row": index,
		"aria-level": limb.depth + 1,
		"aria-posinset": index + 1,
		"aria-setsize": count,
	};
	const style = { ...laneStyle(limb.look.lane), transform: `translateY(${index * height}px)` };
	const state = [is.isOnPath && "path", !fits && "dim", is.isActive && "active", folded && "folded"];
	const className = `mr ${state.filter(Boolean).join(" ")}`;
	if (folded) {
		const best = folded.best === undefined ? "" : `, best ${folded.best.toFixed(2)}`;
		return (
			<div {...place} className={className} style={style} aria-expanded={false} aria-selected={false}>
				<span />
				<span className="line name">
					<ChevronRight />
					{counted(folded.branches, "more branch", "more branches")}
					{best}
				</span>
			</div>
		);
	}
	return (
		<div {...place} className={className} style={style} aria-selected={is.isChosen}>
			<span />
			<span className="line name">
				<button
					type="button"
					className="pick"
					tabIndex={-1}
					aria-hidden="true"
					title="Choose for comparison (C)"
				>
					{is.isPicked ? <Check /> : <i className="dot" />}
				</button>
				{is.isPicked && <span className="sr">chosen for comparison: </span>}
				<bdi className="cut">{limb.look.label}</bdi>
				<Refs look={limb.look} />
				{is.isChosen && (
					<button type="button" className="b ghost s enter" tabIndex={-1} aria-hidden="true">
						Open
					</button>
				)}
			</span>
			<Score value={facts.score} />
			<span className="r">{facts.entries}</span>
			<span className="r">{facts.costUsd > 0 && usd(facts.costUsd)}</span>
			<span className="r">
				{isLive(limb) ? <b className="now">now</b> : facts.last && shortTime(facts.last)}
			</span>
		</div>
	);
});

/** A score, with a bar that shows it between 0 and 1. */
export function Score({ value, isBest }: { value: number | undefined; isBest?: boolean }) {
	if (value === undefined) return <span className="line score" />;
	const style = { "--v": `${100 * Math.max(0, Math.min(1, value))}%` } as React.CSSProperties;
	return (
		<span className={`line score ${isBest ? "best" : ""}`}>
			<i style={style} />
			{value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}
		</span>
	);
}

interface LinesProps {
	rows: readonly MapRow[];
	first: number;
	end: number;
	height: number;
	scale: number;
	path: ReadonlySet<Limb>;
	chosen: string;
}

function Lines({ rows, first, end, height, scale, path, chosen }: LinesProps) {
	const leaves = new Map([...path].map(({ after }) => [after?.limb, after?.index ?? 0] as const));
	const inView = rows
		.map((row, index) => ({ row, index }))
		.filter(({ row, index }) => index >= first && (index < end || (row.parent >= 0 && row.parent < end)));
	const one = ({ row, index }: { row: MapRow; index: number }): React.ReactNode => {
		const isOn = path.has(row.limb) && !row.folded;
		const leavesAt = row.limb.id === chosen ? undefined : leaves.get(row.limb);
		return (
			<Line
				key={row.key}
				{...{ row, height, scale, isOn, leavesAt }}
				y={(index + 0.5) * height}
				from={(row.parent + 0.5) * height}
			/>
		);
	};
	const weak = inView.filter(({ row }) => row.folded || !path.has(row.limb));
	const strong = inView.filter(({ row }) => !row.folded && path.has(row.limb));
	return <>{[...weak, ...strong].map(one)}</>;
}

interface LineProps {
	row: MapRow;
	y: number;
	/** Where the line comes from; below 0: from nowhere. */
	from: number;
	height: number;
	scale: number;
	/** Whether it leads to the chosen branch, and with which of its entries that goes on. */
	isOn: boolean;
	leavesAt: number | undefined;
}

const Line = memo(function Line({
	row: { limb, folded, fits, parent },
	y,
	from,
	scale,
	isOn,
	leavesAt,
}: LineProps) {
	const x = (entry: number): number => LEFT + entry * scale;
	const start = x(limb.start);
	const end = x(limb.start + Math.max(0, limb.own.length - 1));
	const before = x(limb.start - 1);
	const bend = Math.min(9, Math.max(start - before, 3));
	const down =
		parent < 0 ? "" : `M${before} ${from + (isOn ? 0 : 5)}V${y - bend}Q${before} ${y} ${before + bend} ${y}`;
	const line = (until: number): string => (down ? `${down}H${until}` : `M${start} ${y}H${until}`);
	if (folded)
		return (
			<g className="fold">
				<path d={`${down}H${before + bend + 3}`} />
				<path
					className="dots"
					d={[0, 1, 2].map((dot) => `M${before + bend + 9 + dot * 6} ${y}v.1`).join("")}
				/>
			</g>
		);
	const steps = scale >= 6 ? limb.own.slice(0, -1) : limb.own.slice(0, end > start ? 1 : 0);
	const dots = (some: (isUser: boolean) => boolean): string =>
		steps
			.map(({ role }, step) => (some(role === "user") ? `M${x(limb.start + step)} ${y}v.01` : ""))
			.join("");
	return (
		<g className={`${isOn ? "on" : ""} ${fits || isOn ? "" : "dim"}`} style={laneStyle(limb.look.lane)}>
			<path d={line(end)} />
			{isOn && <path className="bold" d={line(leavesAt === undefined ? end : x(limb.start + leavesAt))} />}
			<path className="node" d={dots(() => true)} />
			<path className="hole" d={dots((isUser) => !isUser)} />
			{isLive(limb) && <circle className="glow" cx={end} cy={y} r="9" />}
			<circle
				className={isLive(limb) ? "live" : limb.own.length ? "" : "hollow"}
				cx={end}
				cy={y}
				r={isLive(limb) ? 5.5 : 3.6}
			/>
		</g>
	);
});

interface TipProps {
	row: MapRow;
	top: number;
	left: number;
	canPromote: boolean;
}

/** What a branch is about, while the pointer is on it. */
function Tip({ row: { limb }, top, left, canPromote }: TipProps) {
	const up = limb.after;
	return (
		<div className="tip" style={{ ...laneStyle(limb.look.lane), top, left }} aria-hidden="true">
			<b>
				<bdi>{limb.look.label}</bdi>
			</b>
			{up && (
				<p className="quiet">
					parts from “{up.limb.look.label}” after entry {limb.start}
				</p>
			)}
			<p>{limb.own.at(-1)?.text}</p>
			<p className="quiet">
				<kbd>↵</kbd> open <kbd>C</kbd> compare {canPromote && <kbd>P</kbd>} {canPromote && "make current"}
			</p>
		</div>
	);
}
