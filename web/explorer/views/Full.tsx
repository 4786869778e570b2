// What takes the whole page: the tree at full size, branches side by side, the table of all ways from one message.

import { useCallback } from "react";
import { toCompare, toConversation } from "../model/route.ts";
import { tagLines, tagsOf } from "../model/rules.ts";
import { counted } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { AltTable } from "./AltTable.tsx";
import { ask } from "./ask.tsx";
import { Compare, type Deeds } from "./Compare.tsx";
import type { LoadEntries } from "./compared.ts";
import { askDelete, askDetails, askMerge, askPromote, may } from "./deeds.tsx";
import { Loading, Problem } from "./parts.tsx";
import { TreeMap } from "./TreeMap.tsx";

export default function Full({ app }: { app: App }) {
	useSource(app.place);
	const grove = useSource(app.grove);
	const loadDetails = useCallback((ids: readonly string[]) => void grove?.loadDetails(ids), [grove]);
	const load: LoadEntries = useCallback(
		(conversationId, after, limit, signal) =>
			app.client.api.listEntries(
				{ conversationId, channel: "history", afterCursor: after ?? undefined, limit },
				{ signal },
			),
		[app],
	);
	const { route, place } = app;
	const problem = place?.problem ?? grove?.problem;
	if (!grove?.hasForks || !place || (!grove.isWhole && route.name !== "tree") || place.isGone)
		return (
			<main className="talk" id="main" tabIndex={-1}>
				{problem ? (
					<Problem error={problem} again={() => app.go(location.hash)} />
				) : (
					<Loading what="the tree" />
				)}
			</main>
		);
	const { shape } = grove;
	const title = [...shape.limbs.values()][0]?.look.label ?? "";
	const deeds = may(app, "writer") ? deedsOf(app) : {};
	const shared = { shape, title, loadDetails, deeds };
	if (route.name === "compare")
		return (
			<Compare
				{...shared}
				ids={route.ids}
				load={load}
				render={(blocks) => blocks.map((one, at) => ("text" in one ? <p key={at}>{one.text}</p> : null))}
				go={(hash) => app.go(hash)}
			/>
		);
	if (route.name === "alternatives") {
		const { entryId } = route;
		const line = shape.places.get(entryId ?? "")?.line;
		const tryAgain = line && may(app, "writer") ? () => void app.fork(line, "after") : undefined;
		return <AltTable {...shared} id={route.id} entryId={entryId} tryAgain={tryAgain} />;
	}
	return (
		<TreeMap
			{...shared}
			openId={place.id}
			isLoading={!grove.isWhole}
			open={(id) => app.go(toConversation(id))}
			compare={(ids) => app.go(toCompare(ids))}
			promote={deeds.promote}
		/>
	);
}

function deedsOf(app: App): Deeds {
	return {
		promote: (id) => void askPromote(app, id),
		merge: async (from, into) => {
			for (const id of from) await askMerge(app, id, into);
		},
		tag: (ids) => void (ids.length > 1 ? askTags(app, ids) : askDetails(app, ids[0]!)).catch(app.fail),
		remove: (ids) => void askDelete(app, ids),
	};
}

/** Ask for tags, and add them to several branches. */
const askTags = (app: App, ids: readonly string[]): Promise<unknown> =>
	ask(app, {
		title: `Tag ${counted(ids.length, "branch", "branches")}`,
		explain: () => <p>They are added to the tags that each of the branches has.</p>,
		fields: [{ name: "tags", label: "Tags, one a line, as name:value", kind: "lines", required: true }],
		confirm: "Add",
		check: ({ tags = "" }) => tagsOf(tags).wrong,
		run: async ({ tags: lines = "" }, { signal }) => {
			const { api } = app.client;
			for (const conversationId of ids) {
				const { tags, updatedAt } = await api.getConversation({ conversationId }, { signal });
				const all = { ...tags, ...tagsOf(lines).tags };
				if (tagLines(all) === tagLines(tags)) continue;
				await api.updateConversation({ conversationId, tags: all }, { signal, ifMatch: updatedAt });
			}
			await app.grove?.loadDetails(ids, true);
		},
		told: () => "The tags are added.",
	});
