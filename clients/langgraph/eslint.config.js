import { configured } from "../typescript/eslint.config.js";

export default configured(import.meta.dirname);
