// The rows of the table of ways, and the heads by which they are sorted.

import { Star, X } from "lucide-react";
import { duration } from "../model/costs.ts";
import { toConversation } from "../model/route.ts";
import { differing, told, type Best, type Measure, type Member, type Way } from "../model/ways.ts";
import { clipped, counted, short, usd, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { askPromote, may } from "./deeds.tsx";
import { Score } from "./MapRow.tsx";
import { Refs } from "./Outline.tsx";
import { laneStyle, Press } from "./parts.tsx";

const VALUE_MAX = 40; // characters of what metadata say
const COLUMNS: readonly [Measure, string, string][] = [
	["entries", "Entries", "r hidenarrow"],
	["inputTokens", "Tokens in, out", "r hidenarrow"],
	["costUsd", "Cost", "r"],
	["seconds", "Time", "r"],
];

interface WaysTableProps {
	app: App;
	/** In their order. */
	rows: readonly Way[];
	best: Best;
	sort: { by: Measure | Member; down: boolean };
	sortBy: (by: Measure | Member) => void;
	/** Ids of branches. */
	picked: ReadonlySet<string>;
	/** Choose a branch, or not any more; without one: all of them. */
	toggle: (id?: string) => void;
}

export function WaysTable({ app, rows, best, sort, sortBy, picked, toggle }: WaysTableProps) {
	const hasEnds = rows.some(({ last, words }) => last !== words);
	const members = differing(rows);
	const head = (by: Measure | Member, label: string, className?: string) => (
		<th
			key={by}
			className={className}
			aria-sort={sort.by === by ? (sort.down ? "descending" : "ascending") : undefined}
		>
			<button type="button" onClick={() => sortBy(by)}>
				{label}
				{sort.by === by && (sort.down ? " ↓" : " ↑")}
			</button>
		</th>
	);
	return (
		<table className="alts">
			<thead>
				<tr>
					<th>
						<input
							type="checkbox"
							aria-label="Choose all"
							checked={rows.every(({ limb }) => picked.has(limb.id))}
							onChange={() => toggle()}
						/>
					</th>
					<th>Way</th>
					{hasEnds && <th className="hidenarrow">Ends with</th>}
					{head("score", "Score")}
					{COLUMNS.map(([by, label, className]) => head(by, label, className))}
					{members.map((by) => head(by, visible(by.slice("metadata.".length))))}
					<th>Tags</th>
					{may(app, "writer") && (
						<th>
							<span className="sr">Do</span>
						</th>
					)}
				</tr>
			</thead>
			<tbody>
				{rows.map((way) => (
					<WayRow
						key={way.limb.id}
						{...{ app, way, best, hasEnds, members }}
						isChosen={picked.has(way.limb.id)}
						toggle={toggle}
					/>
				))}
			</tbody>
		</table>
	);
}

interface WayRowProps {
	app: App;
	way: Way;
	best: Best;
	/** Whether one of the ways ends with other words than it begins with. */
	hasEnds: boolean;
	/** Of the metadata, those that differ. */
	members: readonly Member[];
	isChosen: boolean;
	toggle: (id: string) => void;
}

function WayRow({ app, way, best, hasEnds, members, isChosen, toggle }: WayRowProps) {
	const { limb, score, entries, inputTokens, outputTokens, costUsd, seconds, words, last } = way;
	const { id, look, branch } = limb;
	const isGood = best.good === undefined || (score !== undefined && score >= best.good);
	const isBest = (measure: "costUsd" | "seconds"): string =>
		`r ${isGood && way[measure] === best[measure] ? "best" : ""}`;
	return (
		<tr className={isChosen ? "on" : ""} style={laneStyle(look.lane)}>
			<td>
				<input
					type="checkbox"
					checked={isChosen}
					onChange={() => toggle(id)}
					aria-label={`Choose ${words}`}
				/>
			</td>
			<WayName way={way} />
			{hasEnds && (
				<td className="ends hidenarrow">
					<bdi className="cut" title={last}>
						{last}
					</bdi>
				</td>
			)}
			<td>
				{score === undefined ? (
					<span className="quiet">none</span>
				) : (
					<Score value={score} isBest={score === best.score} />
				)}
			</td>
			<td className="r hidenarrow">{entries}</td>
			<td className="r hidenarrow">
				{inputTokens || outputTokens ? `${short(inputTokens)}, ${short(outputTokens)}` : ""}
			</td>
			<td className={isBest("costUsd")}>{costUsd > 0 && usd(costUsd)}</td>
			<td className={isBest("seconds")}>{seconds > 0 && duration(1000 * seconds)}</td>
			{members.map((by) => (
				<td key={by} title={visible(told(way, by))}>
					<bdi>{visible(clipped(told(way, by), VALUE_MAX))}</bdi>
				</td>
			))}
			<td>
				{Object.entries(branch?.tags ?? {}).map(([name, value]) => (
					<span key={name} className="chip">
						{visible(value ? `${name}: ${value}` : name)}
					</span>
				))}
			</td>
			{may(app, "writer") && (
				<td className="r">
					{look.isCurrent ? (
						<span className="quiet">current</span>
					) : (
						<Press className="b ghost s" press={() => askPromote(app, id)}>
							<Star />
							Make current…
						</Press>
					)}
				</td>
			)}
		</tr>
	);
}

/** What a way says first, the title and the names of its branch, and whether a tool has failed in it. */
const WayName = ({ way: { limb, words, title, failures } }: { way: Way }) => (
	<td className="way-name">
		<a className="line" href={toConversation(limb.id)} title={limb.look.label}>
			<i className="dot" />
			<bdi className="cut">{words}</bdi>
		</a>
		{title && <bdi className="cut title">{title}</bdi>}
		<Refs look={limb.look} />
		{failures > 0 && (
			<span
				className="failed"
				title={counted(failures, "entry in which a tool failed", "entries in which a tool failed")}
			>
				<X /> failed
			</span>
		)}
	</td>
);
