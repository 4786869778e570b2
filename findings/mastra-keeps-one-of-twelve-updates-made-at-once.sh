#!/bin/sh
# Mastra 1.71.0, LibSQLStore 1.23.1: updateThread and updateResource merge metadata, so twelve updates of
# twelve different keys at once should keep twelve. They read, merge and write without a condition: most
# keys are lost, and nobody gets an error. The lock of updateThreadMetadata holds in one process alone.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @mastra/core@1.71.0 @mastra/libsql@1.23.1 zod@4.6.5 node@24.21.0 >/dev/null 2>&1
cat >race.mjs <<'JS'
import { LibSQLStore } from "@mastra/libsql";

const open = async (id) => {
	const store = new LibSQLStore({ id, url: `file:${process.cwd()}/kept.db` });
	await store.init();
	return store.getStore("memory");
};
const stores = [await open("one"), await open("other")];
const at = new Date();
await stores[0].saveThread({ thread: { id: "t", resourceId: "r", title: "", metadata: {}, createdAt: at, updatedAt: at } });
const each = (update) => Promise.all(Array.from({ length: 12 }, (_, i) => update(stores[i % 2], { [`k${i}`]: true })));
await each((store, metadata) => store.updateThread({ id: "t", metadata }));
await each((store, metadata) => store.updateResource({ resourceId: "r", metadata }));
const kept = [await stores[0].getThreadById({ threadId: "t" }), await stores[0].getResourceById({ resourceId: "r" })];
console.log("kept of 12, of a thread and of a resource:", ...kept.map(({ metadata }) => Object.keys(metadata).length));
if (kept.every(({ metadata }) => Object.keys(metadata).length === 12)) throw new Error("changed: all are kept");
JS
node_modules/node/bin/node race.mjs
