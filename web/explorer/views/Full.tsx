// What takes the whole page: the tree at full size, branches side by side, the table of all ways from one message.

import { useCallback } from "react";
import { toCompare, toConversation } from "../model/route.ts";
import { titleOf } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { AltTable } from "./AltTable.tsx";
import { Blocks } from "./Blocks.tsx";
import { Compare, type Deeds } from "./Compare.tsx";
import type { LoadEntries } from "./compared.ts";
import { askDelete, askMerge, askPromote, askTag, may } from "./deeds.tsx";
import { Loading, Problem } from "./parts.tsx";
import { Notes } from "./Talk.tsx";
import { TreeMap } from "./TreeMap.tsx";

export default function Full({ app }: { app: App }) {
	useSource(app.place);
	const grove = useSource(app.grove);
	const { place, route } = app;
	const load = useCallback<LoadEntries>(
		(conversationId, after, limit, signal) =>
			app.client.api.listEntries(
				{ conversationId, channel: "history", limit, ...(after && { afterCursor: after }) },
				{ signal },
			),
		[app],
	);
	// What is not loaded yet is what all the rest hangs on.
	if (!place || place.isGone || !grove?.isWhole)
		return (
			<main className="talk" id="main" tabIndex={-1}>
				<Notes app={app} />
				{grove?.problem !== undefined || place?.isGone ? (
					<Problem error={place?.problem ?? grove?.problem} again={() => grove?.load()} />
				) : (
					<Loading what="the tree" />
				)}
			</main>
		);
	const mayWrite = may(app, "writer");
	const deeds: Deeds = {
		promote: mayWrite ? (id) => void askPromote(app, id) : undefined,
		merge: mayWrite
			? async (from, into) => {
					for (const id of from) await askMerge(app, id, into).catch(app.fail);
				}
			: undefined,
		tag: mayWrite ? (ids) => void askTag(app, ids) : undefined,
		remove: may(app, "manager") ? (ids) => void askDelete(app, ids) : undefined,
	};
	const common = { shape: grove.shape, title: titleOf(place.conversation?.title) };
	const from = route.name === "alternatives" ? grove.shape.places.get(route.entryId ?? "")?.line : undefined;
	const go = (hash: string) => app.go(hash);
	switch (route.name) {
		case "compare":
			return (
				<Compare
					{...common}
					ids={route.ids}
					load={load}
					render={(blocks) => <Blocks blocks={blocks} />}
					go={go}
					deeds={deeds}
				/>
			);
		case "alternatives":
			return (
				<AltTable
					{...common}
					id={route.id}
					entryId={route.entryId}
					deeds={deeds}
					tryAgain={from && mayWrite ? () => void app.fork(from, "after") : undefined}
				/>
			);
		default:
			return (
				<TreeMap
					{...common}
					openId={place.id}
					open={(id) => app.go(toConversation(id))}
					compare={(ids) => app.go(toCompare(ids))}
					promote={deeds.promote}
				/>
			);
	}
}
