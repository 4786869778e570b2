// All rows of the full-size tree, small, and a frame around those in view, which one drags.

import { useEffect, useRef } from "react";
import type { MapRow } from "../model/map.ts";
import { type Limb } from "../model/shape.ts";

const ROW_MAX = 5; // pixels

interface MinimapProps {
	rows: readonly MapRow[];
	longest: number;
	path: ReadonlySet<Limb>;
	/** What scrolls, and how high its content is. */
	box: React.RefObject<HTMLDivElement | null>;
	rowsHeight: number;
	/** Takes the function that moves the frame: called with where one has scrolled to. */
	frameRef: React.RefObject<(top: number) => void>;
}

export function Minimap({ rows, longest, path, box, rowsHeight, frameRef }: MinimapProps) {
	const map = useRef<HTMLDivElement>(null);
	const frame = useRef<HTMLDivElement>(null);

	useEffect(() => {
		let [shown, height] = [0, 0];
		const move = (top: number): void => {
			const share = height / rowsHeight;
			frame.current!.style.transform = `translateY(${8 + top * share}px)`;
			frame.current!.style.height = `${Math.min(rowsHeight, shown) * share}px`;
		};
		const size = (): void => {
			shown = box.current!.clientHeight;
			height = heightOf(rows, map.current!);
			map.current!.style.setProperty("--rows", `${height}px`);
			move(box.current!.scrollTop);
		};
		size();
		frameRef.current = move;
		const observer = new ResizeObserver(size);
		observer.observe(box.current!);
		return () => observer.disconnect();
	}, [rows, box, rowsHeight, frameRef]);

	const drag = (event: React.PointerEvent): void => {
		if (!event.buttons) return;
		if (event.type === "pointerdown") map.current!.setPointerCapture(event.pointerId);
		const { top } = map.current!.getBoundingClientRect();
		const { scrollHeight, clientHeight } = box.current!;
		const share = (event.clientY - top - 8) / heightOf(rows, map.current!);
		box.current!.scrollTop = share * scrollHeight - clientHeight / 2;
	};
	const kind = ({ limb, folded, fits }: MapRow): string =>
		folded ? "fold" : path.has(limb) ? "on" : `${fits ? "" : "dim"} ${limb.look.lane}`;
	const lines = [
		...Map.groupBy(
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

const heightOf = (rows: readonly MapRow[], { clientHeight }: HTMLElement): number =>
	Math.min(rows.length * ROW_MAX, clientHeight - 16);
