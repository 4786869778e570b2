// Builds elements. Text always goes in as text: no string is ever read as HTML.

const LOOK_MS = 50;

/**
 * Return a new element. kind: its tag, and its classes after dots: "p.dim". attributes: a function is a listener
 * (`onclick`), true an attribute without a value; null, undefined and false leave it out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T | `${T}.${string}`} kind
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 */
export function h(kind, attributes = {}, ...children) {
	const [tag, ...classes] = kind.split(".");
	const element = document.createElement(/** @type {T} */ (tag));
	element.classList.add(...classes);
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === "function") element.addEventListener(name.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			element.setAttribute(name, value === true ? "" : String(value));
	}
	fill(element, ...children);
	return element;
}

/** Replace what an element holds. @param {Element} element @param {...(Child | Child[])} children */
export function fill(element, ...children) {
	const kept = children.flat().filter((child) => child || child === 0);
	element.replaceChildren(...kept.map((child) => (child instanceof Node ? child : String(child))));
}

/** Wait until nothing in an element is pressed: what is replaced then gets no click. @param {Element} element */
export async function released(element) {
	while (element.querySelector(":active")) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

/**
 * Return a button. A press while an earlier one is at work does nothing. `press` handles its errors itself.
 * @param {Child | Child[]} label
 * @param {(event: MouseEvent) => unknown} press
 * @param {Record<string, any>} [attributes]
 */
export function button(label, press, attributes = {}) {
	const made = h("button", { type: "button", ...attributes }, label);
	made.addEventListener("click", async (event) => {
		if (made.ariaBusy) return;
		made.ariaBusy = "true";
		try {
			await press(event);
		} finally {
			made.ariaBusy = null;
		}
	});
	return made;
}
