import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// The page is served at /, and its files at /web/…, each under a name that holds its hash.
export default defineConfig({
	root: here("web/explorer"),
	base: "/web/",
	resolve: { alias: { "@forklore/client": here("clients/typescript/src/index.ts") } },
	build: {
		outDir: here("web/built"),
		emptyOutDir: true,
		assetsDir: "",
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		target: "es2024",
		reportCompressedSize: true,
		license: { fileName: "licenses.md" },
	},
	server: { proxy: { "/v1": "http://127.0.0.1:8080", "/files": "http://127.0.0.1:8080" } },
	test: { include: ["**/*.test.ts"] },
});
