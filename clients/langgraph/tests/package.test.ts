// What npm would publish.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { faultsOf, filesOf, packed } from "../../typescript/tests/support/packed.ts";

const PACKAGE = join(import.meta.dirname, "..");

test("everybody can import it, and it brings no package along", async () => {
	const made = await packed(PACKAGE);
	onTestFinished(() => {
		rmSync(made.folder, { recursive: true, force: true });
	});
	expect(made.files).toEqual(filesOf(PACKAGE));
	expect(await faultsOf(made)).toEqual({ faults: [], entrypoints: [".", "./package.json"] });
	expect(made.manifest).not.toHaveProperty("dependencies");
	const client = JSON.parse(readFileSync(join(PACKAGE, "../typescript/package.json"), "utf8")) as object;
	expect(client).toMatchObject({ version: made.manifest["version"], license: made.manifest["license"] });
	expect(made.manifest["publishConfig"]).toEqual({ access: "public" });
});
