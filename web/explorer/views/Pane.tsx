// Beside the conversation: its tree, what the agent remembered, and what it cost.

import { Maximize2, X } from "lucide-react";
import { toTree } from "../model/route.ts";
import { titleOf } from "../model/words.ts";
import type { App, PaneName } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { Costs } from "./Costs.tsx";
import { Memory } from "./Memory.tsx";
import { Outline } from "./Outline.tsx";
import { IconPress, Problem } from "./parts.tsx";
import type { ReactNode } from "react";

const TABS: [PaneName, string][] = [
	["tree", "Tree"],
	["memory", "Memory"],
	["details", "Costs"],
];

interface PaneProps {
	app: App;
	/** It is all that is seen of the page. */
	isAlone: boolean;
	/** What sizes it. */
	children?: ReactNode;
}

export function Pane({ app, isAlone, children }: PaneProps) {
	const place = useSource(app.place!);
	const grove = useSource(app.grove!);
	const { pane } = app;
	const [root] = grove.shape.roots;
	return (
		<div
			className="pane"
			role={isAlone ? "main" : "complementary"}
			aria-label={isAlone ? undefined : "Beside the conversation"}
		>
			{children}
			{isAlone && (
				<h1 className="cut" dir="auto">
					{titleOf(root?.branch?.title ?? place.conversation?.title)}
				</h1>
			)}
			<div className="top">
				<div role="tablist" aria-label="What is shown">
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
			</div>
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
		</div>
	);
}
