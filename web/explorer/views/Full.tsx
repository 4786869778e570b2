// What takes the whole page: the tree at full size, branches side by side, the table of all ways from one message.

import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";

export function Full({ app }: { app: App }) {
	useSource(app.place);
	useSource(app.grove);
	return <main className="talk" id="main" tabIndex={-1} />;
}
