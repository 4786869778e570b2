// The lines of the tree at full size: each branch from the entry that it goes on after, a step for each of its entries.

import { memo } from "react";
import type { MapRow } from "../model/map.ts";
import type { Limb } from "../model/shape.ts";
import { isLive } from "./Outline.tsx";
import { laneStyle } from "./parts.tsx";

/** Where the line of a root begins. */
export const LEFT = 18;

interface LinesProps {
	rows: readonly MapRow[];
	first: number;
	end: number;
	height: number;
	scale: number;
	path: ReadonlySet<Limb>;
	chosen: string;
}

export function Lines({ rows, first, end, height, scale, path, chosen }: LinesProps) {
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
