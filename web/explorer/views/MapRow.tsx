// A row of the tree at full size: what a branch is called, cost and is worth; and what it is about, under the pointer.

import { Check, ChevronRight } from "lucide-react";
import { memo } from "react";
import type { MapRow } from "../model/map.ts";
import { counted, shortTime, usd } from "../model/words.ts";
import { isLive, Refs } from "./Outline.tsx";
import { laneStyle } from "./parts.tsx";

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
	isMarked: boolean;
}

export const MapRowView = memo(function MapRowView({
	id,
	row,
	index,
	count,
	height,
	...is
}: MapRowViewProps) {
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
	const state = [
		is.isOnPath && "path",
		!fits && "dim",
		is.isActive && "active",
		folded && "folded",
		is.isMarked && "hit",
	];
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

interface TipProps {
	row: MapRow;
	top: number;
	left: number;
	canPromote: boolean;
}

/** What a branch is about, while the pointer is on it. */
export function Tip({ row: { limb }, top, left, canPromote }: TipProps) {
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
