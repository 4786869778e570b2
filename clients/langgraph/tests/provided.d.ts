import "vitest";

declare module "vitest" {
	export interface ProvidedContext {
		url: string;
	}
}
