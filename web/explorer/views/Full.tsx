// What takes the whole page: the tree at full size, branches side by side, the table of all ways from one message.

import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { AltTable } from "./AltTable.tsx";
import { Compare } from "./Compare.tsx";
import { Loading, Problem } from "./parts.tsx";
import { Notes } from "./Talk.tsx";
import { TreeMap } from "./TreeMap.tsx";

export default function Full({ app }: { app: App }) {
	useSource(app.place);
	const grove = useSource(app.grove);
	const { place, route } = app;
	// What is not loaded yet is what all the rest hangs on.
	if (!place || !grove?.isWhole)
		return (
			<main className="talk" id="main" tabIndex={-1}>
				<Notes app={app} />
				{grove?.problem !== undefined ? (
					<Problem error={grove.problem} again={() => grove.load()} />
				) : (
					<Loading what="the tree" />
				)}
			</main>
		);
	switch (route.name) {
		case "compare":
			return <Compare app={app} ids={route.ids} />;
		case "alternatives":
			return <AltTable app={app} id={route.id} entryId={route.entryId} />;
		default:
			return <TreeMap app={app} />;
	}
}
