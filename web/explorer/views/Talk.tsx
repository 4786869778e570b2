// The open conversation: its head, its messages, and where one writes.

import { WifiOff, X } from "lucide-react";
import { useMemo } from "react";
import { toList } from "../model/route.ts";
import { shortTime } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { filesOf, Reader } from "./Attached.tsx";
import { Composer, DraftBox } from "./Composer.tsx";
import { may } from "./deeds.tsx";
import { Head } from "./Head.tsx";
import { Press } from "./parts.tsx";
import { PinnedBar } from "./Pinned.tsx";
import { Thread } from "./Thread.tsx";

export function Talk({ app }: { app: App }) {
	const place = useSource(app.place!);
	const grove = useSource(app.grove);
	const files = useMemo(() => filesOf(app), [app]);
	if (place.isGone) return <Gone app={app} />;
	return (
		<main className="talk" id="main" tabIndex={-1} aria-label="Messages">
			<Head app={app} />
			<Notes app={app} />
			<PinnedBar app={app} />
			<Reader value={files}>
				<Thread key={place.id} app={app} />
			</Reader>
			{may(app, "writer") && (
				<Composer
					key={`pen ${place.id}`}
					app={app}
					sent={(entry) => {
						grove?.addEntry(entry);
						void app.list.load(); // it shows what was said last
						if (place !== app.place) return;
						if (place.has.newer) void place.goTo();
						else place.add(entry);
						place.chosen = undefined;
						place.visits++;
						place.changed();
					}}
				/>
			)}
		</main>
	);
}

/** What stands above the messages for a while: the server is gone, or something went wrong. */
export function Notes({ app }: { app: App }) {
	const { lost, failure } = app;
	return (
		<>
			<div role="status" aria-label="Connection">
				{lost && (
					<div className="line note">
						<WifiOff />
						<span className="grow">
							{lost} You see what was loaded at {shortTime(app.answeredAt.toISOString())}. Trying again…
						</span>
					</div>
				)}
			</div>
			<div role="alert">
				{failure && (
					<div className="line note bad">
						<span className="grow">
							{failure.sentence} {failure.requestId && <small>Request {failure.requestId}</small>}
						</span>
						<Press className="b s icon ghost" aria-label="Close" press={() => app.closeFailure()}>
							<X />
						</Press>
					</div>
				)}
			</div>
		</>
	);
}

/** A conversation that one cannot see, or not any more. What one has written there can be read. */
function Gone({ app }: { app: App }) {
	const place = app.place!;
	const drafts = app.draftsOf(place.id);
	return (
		<main className="talk" id="main" tabIndex={-1} aria-label="Messages">
			<Notes app={app} />
			<div className="blank">
				<h1>This conversation is not here</h1>
				<p role="status">
					It was deleted, or it is not shared with you. Ask its owner, or choose another one.
				</p>
				<p>
					<a className="b" href={toList()}>
						All conversations
					</a>
				</p>
				{drafts.map((draft) => (
					<div key={draft.at} className="box">
						<p className="quiet">What you had written there:</p>
						<DraftBox draft={draft} label="What you had written" send={() => undefined} />
					</div>
				))}
			</div>
		</main>
	);
}
