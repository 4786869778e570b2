// The tree at full size: one row a branch, what it cost and is worth beside it, and all of it small at the right.

import "../styles/map.css";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { rootward, scoreOf } from "../model/shape.ts";
import type { App } from "../service/app.ts";
import { MapColumns, MapHead } from "./MapHead.tsx";
import { LEFT } from "./MapLines.tsx";
import { useMapRows } from "./mapRows.ts";
import { MapSheet } from "./MapSheet.tsx";
import { Minimap } from "./Minimap.tsx";
import { Notes } from "./Talk.tsx";
import { usePhone, useRows, useWidth } from "./rows.ts";

const HEAD = 30;
const UNIT = 9.4; // pixels from one entry to the next, at most
const SHARE = 0.36; // of the width for the lines
const ZOOM_MAX = 8;

export function TreeMap({ app }: { app: App }) {
	const { shape } = app.grove!;
	const openId = app.place!.id;
	const { limbs } = shape;
	const map = useMapRows(shape, openId);
	const { rows, chosen } = map;
	const [zoom, setZoom] = useState(1);
	const zoomBy = (factor: number): void => setZoom(Math.max(1, Math.min(ZOOM_MAX, zoom * factor)));
	const field = useRef<HTMLInputElement>(null);
	const isPhone = usePhone();
	const height = isPhone ? 40 : 27;
	const view = useRows(rows, height, { head: HEAD });
	const { box, look, reveal } = view;
	const [, width] = useWidth(box);
	const openRow = rows.findIndex(({ key }) => key === openId);
	useLayoutEffect(() => reveal(openRow, "middle"), []);

	const path = useMemo(() => new Set(rootward(limbs.get(chosen))), [limbs, chosen]);
	const longest = useMemo(
		() => Math.max(1, ...[...limbs.values()].map(({ start, own }) => start + own.length)),
		[limbs],
	);
	const hasScores = useMemo(() => [...limbs.values()].some((limb) => scoreOf(limb) !== undefined), [limbs]);
	const { graph, scale } = sizesOf({ width, longest, zoom, isPhone });
	const moveFrame = useRef<(top: number) => void>(() => undefined);
	const onScroll = (): void => {
		const { scrollTop } = box.current!; // read before anything is drawn: then it costs no layout
		look();
		moveFrame.current(scrollTop);
	};
	const style = { "--gw": `${graph}px`, "--score": hasScores ? "104px" : "0px" } as React.CSSProperties;
	return (
		<main className="map" id="main" tabIndex={-1}>
			<MapHead {...{ app, map, field, zoom, zoomBy, hasScores }} />
			<Notes app={app} />
			<div className="mapbody" style={style}>
				<div className="mapscroll" ref={box} onScroll={onScroll}>
					<MapColumns {...map} {...{ longest, scale, graph }} />
					<MapSheet
						{...{ app, map, view, height, graph, scale, path, zoomBy }}
						toFilter={() => field.current!.focus()}
					/>
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
		</main>
	);
}

interface Sizes {
	/** Of the view. */
	width: number;
	/** The most entries that a branch shows. */
	longest: number;
	zoom: number;
	isPhone: boolean;
}

/** Return how wide the lines are together, and how far it is from one entry to the next, in pixels. */
function sizesOf({ width, longest, zoom, isPhone }: Sizes): { graph: number; scale: number } {
	if (isPhone) {
		const graph = Math.min(120, width * 0.36);
		return { graph, scale: (graph - 2 * LEFT) / longest };
	}
	const scale = Math.min(UNIT, (width * SHARE - 2 * LEFT) / longest) * zoom;
	return { graph: Math.max(120, LEFT + scale * longest + 24), scale };
}
