// Beside the conversation: its tree, what the agent remembered, and what it cost.

import { Maximize2, X } from "lucide-react";
import { toTree } from "../model/route.ts";
import type { App, PaneName } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { Costs } from "./Costs.tsx";
import { Memory } from "./Memory.tsx";
import { Outline } from "./Outline.tsx";
import { IconPress, Problem } from "./parts.tsx";

const TABS: [PaneName, string][] = [
	["tree", "Tree"],
	["memory", "Memory"],
	["details", "Costs"],
];

export function Pane({ app }: { app: App }) {
	const place = useSource(app.place!);
	const grove = useSource(app.grove!);
	const { pane } = app;
	return (
		<aside className="pane" aria-label="Beside the conversation">
			<header>
				<div role="tablist" aria-label="Beside the conversation">
					{TABS.filter(([name]) => name !== "memory" || app.isAgent).map(([name, label]) => (
						<button
							key={name}
							type="button"
							className="tab"
							role="tab"
							aria-selected={pane === name}
							onClick={() => app.showPane(name)}
						>
							{label}
						</button>
					))}
				</div>
				<span className="grow" />
				<a
					className="b ghost icon"
					href={toTree(place.id)}
					aria-label="Tree at full size"
					title="Tree at full size (G)"
				>
					<Maximize2 />
				</a>
				<IconPress label="Close" press={() => app.showPane(undefined)}>
					<X />
				</IconPress>
			</header>
			<div role="tabpanel" className="panel" aria-label={pane}>
				{pane === "tree" &&
					(grove.problem !== undefined ? (
						<Problem error={grove.problem} again={() => grove.load()} />
					) : (
						<Outline app={app} />
					))}
				{pane === "memory" && <Memory key={place.id} app={app} />}
				{pane === "details" && <Costs app={app} />}
			</div>
		</aside>
	);
}
