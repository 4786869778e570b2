// Dark or light: as the system has it, or as the reader has chosen in this browser.

const KEPT = "forklore.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const show = (): void => {
	document.documentElement.dataset.theme = localStorage.getItem(KEPT) ?? (system.matches ? "dark" : "light");
};

export function toggleTheme(): void {
	localStorage.setItem(KEPT, document.documentElement.dataset.theme === "dark" ? "light" : "dark");
	show();
}

system.addEventListener("change", show);
show();
