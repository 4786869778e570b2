export { default } from "../../typescript/tests/vitest.config.ts";
