// The rows of the tree at full size, with their lines: what the pointer and the keys do there.

import { useId, useLayoutEffect, useRef, useState } from "react";
import { toConversation } from "../model/route.ts";
import type { Limb } from "../model/shape.ts";
import { counted } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { askPromote, may } from "./deeds.tsx";
import { Lines } from "./MapLines.tsx";
import { MapRowView, Tip } from "./MapRow.tsx";
import type { MapRows } from "./mapRows.ts";
import { stepped, usePhone, type Rows } from "./rows.ts";

const TIP = { width: 336, height: 140, gap: 6 };

interface MapSheetProps {
	app: App;
	map: MapRows;
	/** Which rows are drawn, and where they scroll. */
	view: Rows;
	height: number;
	/** How wide the lines are together, and from one entry to the next. */
	graph: number;
	scale: number;
	/** The chosen branch, and those that it goes on from. */
	path: ReadonlySet<Limb>;
	zoomBy: (factor: number) => void;
	toFilter: () => void;
}

export function MapSheet({ app, map, view, height, graph, scale, path, zoomBy, toFilter }: MapSheetProps) {
	const name = useId();
	const sheet = useRef<HTMLDivElement>(null);
	const openId = app.place!.id;
	const { rows, chosen, picked } = map;
	const { first, end, slots } = view;
	const { marked } = app.grove!;
	const [activeKey, setActive] = useState(openId);
	const [hovered, setHovered] = useState<Hovered>();
	const rowOf = (key: string): number => rows.findIndex((row) => row.key === key);
	const active = Math.max(0, rowOf(activeKey), activeKey === openId ? rowOf(chosen) : -1);
	useLayoutEffect(() => sheet.current!.focus({ preventScroll: true }), []);

	const deeds: RowDeeds = {
		go: (row) => {
			setActive(rows[row]!.key);
			view.reveal(row);
		},
		choose: (row) => {
			setActive(rows[row]!.key);
			if (rows[row]!.folded) map.unfold(rows[row]!.key);
			else map.choose(rows[row]!.key);
		},
		enter: (row) => {
			if (rows[row]!.folded) map.unfold(rows[row]!.key);
			else app.go(toConversation(rows[row]!.key));
		},
	};
	const onKeyDown = (event: React.KeyboardEvent): void => {
		const page = Math.floor(view.box.current!.clientHeight / height) - 2;
		if (pressed(event, { app, map, active, page, deeds, zoomBy, toFilter })) {
			event.preventDefault();
			event.stopPropagation();
		}
	};
	const onClick = (event: React.MouseEvent): void => {
		const row = rowAt(event);
		if (!rows[row]) return;
		const has = (selector: string): boolean => (event.target as Element).closest(selector) !== null;
		if (has(".pick")) map.pick(rows[row].limb.id);
		else if (has(".enter") || event.detail > 1) deeds.enter(row);
		else deeds.choose(row);
	};
	const isPhone = usePhone();
	const onMouseOver = (event: React.MouseEvent): void => {
		const row = rowAt(event);
		setHovered(isPhone || !rows[row] || rows[row].folded ? undefined : hoveredAt(event, row));
	};

	const drawn = rows.slice(first, end).map((row, index) => ({ row, index: first + index }));
	if (rows[active] && (active < first || active >= end)) drawn.push({ row: rows[active], index: active });
	const branches = [...app.grove!.shape.limbs.values()].filter(({ branch }) => branch).length;
	return (
		<>
			<div
				ref={sheet}
				className="sheet"
				role="tree"
				aria-label={`Fork tree, ${counted(branches, "branch", "branches")}`}
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
						isMarked={row.limb.own.some(({ id }) => marked.has(id))}
					/>
				))}
			</div>
			{!rows.length && <p className="quiet none">No branch fits.</p>}
			{hovered && rows[hovered.index] && (
				<Tip
					row={rows[hovered.index]!}
					top={hovered.top}
					left={hovered.left}
					canPromote={may(app, "writer")}
				/>
			)}
		</>
	);
}

/** What one does with a row, by its place. */
interface RowDeeds {
	/** Go there. */
	go: (row: number) => void;
	/** Let the lines lead there, or show what is folded there. */
	choose: (row: number) => void;
	/** Open its conversation, or show what is folded there. */
	enter: (row: number) => void;
}

interface Keys extends Pick<MapSheetProps, "app" | "map" | "zoomBy" | "toFilter"> {
	active: number;
	/** How many rows are in view. */
	page: number;
	deeds: RowDeeds;
}

/** Do what a key does here, and return whether it does anything. */
function pressed(event: React.KeyboardEvent, keys: Keys): boolean {
	const { app, map, active, page, deeds, zoomBy, toFilter } = keys;
	const { rows } = map;
	const row = rows[active];
	if (event.altKey || event.ctrlKey || event.metaKey || !row) return false;
	const to = stepped(event.key, active, rows.length, page);
	const firstKid = rows.findIndex(({ parent }) => parent === active);
	const all: Record<string, () => unknown> = {
		Enter: () => deeds.enter(active),
		" ": () => deeds.choose(active),
		c: () => map.pick(row.limb.id),
		p: () => row.limb.branch && may(app, "writer") && askPromote(app, row.limb.id),
		ArrowLeft: () => deeds.go(Math.max(0, row.parent)),
		ArrowRight: () => (row.folded ? map.unfold(row.key) : deeds.go(Math.max(active, firstKid))),
		"+": () => zoomBy(1.5),
		"-": () => zoomBy(1 / 1.5),
		"/": toFilter,
	};
	if (to !== undefined) deeds.go(to);
	else if (all[event.key]) all[event.key]!();
	else return false;
	return true;
}

/** The row that the pointer is on, and where its tip stands. */
interface Hovered {
	index: number;
	top: number;
	left: number;
}

/** Return the place of the row that an event is in; NaN for none. */
const rowAt = (event: React.SyntheticEvent): number =>
	Number((event.target as Element).closest<HTMLElement>("[data-row]")?.dataset.row ?? NaN);

function hoveredAt(event: React.MouseEvent, index: number): Hovered {
	const row = (event.target as Element).closest("[data-row]")!;
	const { top, bottom } = row.getBoundingClientRect();
	// At the end of the column of names, which are shorter.
	const left = row.querySelector(".name")!.getBoundingClientRect().right - TIP.width;
	const isLow = bottom + TIP.height + 10 > innerHeight;
	return { index, left, top: isLow ? top - TIP.height : bottom + TIP.gap };
}
