// All rows of the full-size tree, small, and a frame around those in view, which one drags.

import { useEffect, useRef } from "react";
import type { MapRow } from "../model/map.ts";
import { grouped, type Limb } from "../model/shape.ts";

const ROW_MAX = 5; // pixels

interface MinimapProps {
	rows: readonly MapRow[];
	longest: number;
	path: ReadonlySet<Limb>;
	/** What scrolls. */
	box: React.RefObject<HTMLDivElement | null>;
	rowsHeight: number;
}

export function Minimap({ rows, longest, path, box, rowsHeight }: MinimapProps) {
	const map = useRef<HTMLDivElement>(null);
	const frame = useRef<HTMLDivElement>(null);

	useEffect(() => {
		const scroller = box.current!;
		const place = (): void => {
			const height = Math.min(rows.length * ROW_MAX, map.current!.clientHeight - 16);
			map.current!.style.setProperty("--rows", `${height}px`);
			const share = height / Math.max(1, scroller.scrollHeight);
			frame.current!.style.transform = `translateY(${8 + scroller.scrollTop * share}px)`;
			frame.current!.style.height = `${Math.min(height, scroller.clientHeight * share)}px`;
		};
		place();
		const observer = new ResizeObserver(place);
		observer.observe(scroller);
		scroller.addEventListener("scroll", place, { passive: true });
		return () => {
			observer.disconnect();
			scroller.removeEventListener("scroll", place);
		};
	}, [rows, box, rowsHeight]);

	const drag = (event: React.PointerEvent): void => {
		if (!event.buttons) return;
		if (event.type === "pointerdown") map.current!.setPointerCapture(event.pointerId);
		const { top } = map.current!.getBoundingClientRect();
		const { scrollHeight, clientHeight } = box.current!;
		const height = Math.min(rows.length * ROW_MAX, map.current!.clientHeight - 16);
		box.current!.scrollTop = ((event.clientY - top - 8) / height) * scrollHeight - clientHeight / 2;
	};
	const kind = ({ limb, folded, fits }: MapRow): string =>
		folded ? "fold" : path.has(limb) ? "on" : `${fits ? "" : "dim"} ${limb.look.lane}`;
	const lines = [
		...grouped(
			rows.map((row, at) => ({ row, at })),
			({ row }) => kind(row),
		),
	];
	return (
		<div className="mini" aria-hidden="true" ref={map} onPointerDown={drag} onPointerMove={drag}>
			<svg viewBox={`0 0 ${longest + 2} ${Math.max(1, rows.length)}`} preserveAspectRatio="none">
				{lines.map(([name, some]) => (
					<path
						key={name}
						className={name.replace(/\d/, "")}
						style={{ stroke: /\d/.test(name) ? `var(--lane-${name.at(-1)})` : undefined }}
						d={some
							.map(
								({ row, at }) =>
									`M${row.limb.start} ${at + 0.5}h${Math.max(1, row.folded ? 2 : row.limb.own.length)}`,
							)
							.join("")}
					/>
				))}
			</svg>
			<div className="view" ref={frame} />
		</div>
	);
}
