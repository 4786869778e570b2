// For workerd, as one of its tests.

import { run } from "./run.js";

export default {
	/** @param {unknown} _controller @param {{ WORK: string }} environment */
	async test(_controller, environment) {
		const { stories, at } = JSON.parse(environment.WORK);
		console.log(JSON.stringify(await run(stories, at)));
	},
};
