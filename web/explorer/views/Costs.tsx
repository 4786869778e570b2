// What the open branch has cost, alone, with all before it, and beside the whole tree; and how long messages took.

import { costsOf, duration, gapsOf } from "../model/costs.ts";
import { toConversation } from "../model/route.ts";
import { shownBy, type Sum } from "../model/shape.ts";
import { short, usd } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { laneStyle } from "./parts.tsx";

const MOST = 20;

export function Costs({ app }: { app: App }) {
	const place = useSource(app.place!);
	const grove = useSource(app.grove!);
	const limb = grove.shape.limbs.get(place.id);
	if (!limb) return null;
	const { own, path, tree } = costsOf(grove.lines, limb);
	const lines = shownBy(limb);
	const hasCached = tree.cachedInputTokens > 0;
	const gaps = gapsOf(lines);
	const slow = lines.map((line, at) => ({ line, ms: gaps[at]! })).filter(({ ms }) => ms > 0);
	const shown = slow.sort((one, other) => other.ms - one.ms).slice(0, MOST);
	const most = shown[0]?.ms ?? 1;
	return (
		<div className="costs">
			<table>
				<thead>
					<tr>
						<td />
						{["entries", "in", ...(hasCached ? ["cached"] : []), "out", "cost", "time"].map((one) => (
							<th key={one} scope="col">
								{one}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					<Row name="This branch" sum={own} hasCached={hasCached} />
					<Row name="Its path" sum={path} hasCached={hasCached} />
					<Row name="Its tree" sum={tree} hasCached={hasCached} />
				</tbody>
			</table>
			{!grove.isWhole && <p className="quiet">Older entries are loading; the sums grow.</p>}
			{shown.length > 0 && <h3>What took longest on this branch</h3>}
			{shown.map(({ line, ms }) => (
				<a
					key={line.id}
					className="pace"
					href={toConversation(place.id, line.id)}
					style={laneStyle(grove.look(line.conversationId)?.lane)}
				>
					<span className="cut" dir="auto">
						{line.text || line.role}
					</span>
					<span>{duration(ms)}</span>
					<span>{Number(line.usage?.costUsd ?? 0) > 0 && usd(Number(line.usage?.costUsd))}</span>
					<i style={{ width: `${(Math.log(1 + ms) / Math.log(1 + most)) * 40}%` }} />
				</a>
			))}
		</div>
	);
}

const Row = ({ name, sum, hasCached }: { name: string; sum: Sum; hasCached: boolean }) => (
	<tr>
		<th scope="row">{name}</th>
		<td>{sum.entries.toLocaleString("en")}</td>
		<td>{short(sum.inputTokens)}</td>
		{hasCached && <td>{short(sum.cachedInputTokens)}</td>}
		<td>{short(sum.outputTokens)}</td>
		<td>{usd(sum.costUsd)}</td>
		<td>{sum.seconds > 0 && duration(sum.seconds * 1000)}</td>
	</tr>
);
