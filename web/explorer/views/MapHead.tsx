// What stands above the tree at full size: how many branches there are, and what chooses among them.

import { ChevronLeft, Columns2, Minus, Plus } from "lucide-react";
import { ticksOf, type Column } from "../model/map.ts";
import { toCompare, toConversation } from "../model/route.ts";
import { sumOf } from "../model/shape.ts";
import { counted, titleOf, usd } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { LEFT } from "./MapLines.tsx";
import type { MapRows } from "./mapRows.ts";
import { FilterField, IconPress, Press } from "./parts.tsx";

const COLUMNS: readonly [Column, string][] = [
	["score", "Score"],
	["entries", "Entries"],
	["costUsd", "Cost"],
	["last", "Last"],
];

interface MapHeadProps {
	app: App;
	map: MapRows;
	field: React.RefObject<HTMLInputElement | null>;
	zoom: number;
	zoomBy: (factor: number) => void;
	hasScores: boolean;
}

export function MapHead({ app, map, field, zoom, zoomBy, hasScores }: MapHeadProps) {
	const { limbs, places } = app.grove!.shape;
	const { rows, chosen, picked } = map;
	const cost = sumOf([...places.values()].map(({ line }) => line)).costUsd;
	const count = [...limbs.values()].filter(({ branch }) => branch).length;
	const shown = rows.filter((row) => row.fits && !row.folded).length;
	const compared = picked.length > 1 ? picked : [...new Set([...picked, chosen])];
	return (
		<header className="line">
			<a
				className="b ghost icon"
				href={toConversation(app.place!.id)}
				aria-label="Back to the conversation"
				title="Back (Esc)"
			>
				<ChevronLeft />
			</a>
			<h1 className="cut">
				<bdi>{titleOf(app.place!.conversation?.title)}</bdi>
			</h1>
			<span className="quiet hidenarrow" role="status">
				{counted(count, "branch", "branches")}
				{cost > 0 && `, ${usd(cost)}`}
				{shown < rows.length && `, ${shown} shown`}
			</span>
			<span className="grow" />
			<FilterField field={field} query={map.query} filter={map.filter} />
			{hasScores && <LeastScore {...map} />}
			<span className="line zoom hidenarrow">
				<IconPress className="s" label="Smaller (-)" press={() => zoomBy(1 / 1.5)}>
					<Minus />
				</IconPress>
				{Math.round(zoom * 100)} %
				<IconPress className="s" label="Larger (+)" press={() => zoomBy(1.5)}>
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
	);
}

const LeastScore = ({ least, setLeast }: Pick<MapRows, "least" | "setLeast">) => (
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
);

interface MapColumnsProps extends Pick<MapRows, "sort" | "sortBy"> {
	/** The most entries that a branch shows. */
	longest: number;
	/** Pixels from one entry to the next, and of all the lines. */
	scale: number;
	graph: number;
}

/** The heads of the columns, by which the rows are sorted, beside the scale of the lines. */
export const MapColumns = ({ sort, sortBy, longest, scale, graph }: MapColumnsProps) => (
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
);
