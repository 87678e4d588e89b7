// Makes elements. Text always goes through textContent, so that a name such as "<script>" is text.

type Child = Node | string;

interface Options {
  class?: string;
  text?: string;
  attributes?: Record<string, string>;
  on?: Record<string, (event: Event) => void>;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K, options: Options = {}, children: Child[] = [],
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (options.class !== undefined) element.className = options.class;
  if (options.text !== undefined) element.textContent = options.text;
  for (const [name, value] of Object.entries(options.attributes ?? {})) element.setAttribute(name, value);
  for (const [name, action] of Object.entries(options.on ?? {})) element.addEventListener(name, action);
  element.append(...children);
  return element;
}

// Makes the children of `parent` equal to `wanted`, and changes only what differs: the keyboard's focus and marked text
// stay where nothing changes, and a screen reader says only news. `wanted` must have no listeners.
export function showChildren(parent: Element, wanted: readonly Element[]): void {
  wanted.forEach((element, i) => {
    const shown = parent.children[i];
    if (shown === undefined) parent.append(element);
    else if (!shown.isEqualNode(element)) showAs(shown, element);
  });
  while (parent.children.length > wanted.length) parent.lastElementChild!.remove();
}

// Makes an element equal to another one.
function showAs(shown: Element, wanted: Element): void {
  const kind = (element: Element): string => element.childElementCount === 0 ? "text"
    : element.childElementCount === element.childNodes.length ? "elements" : "both";
  if (shown.tagName !== wanted.tagName || kind(shown) !== kind(wanted) || kind(wanted) === "both") {
    shown.replaceWith(wanted);
    return;
  }
  for (const { name } of [...shown.attributes]) if (!wanted.hasAttribute(name)) shown.removeAttribute(name);
  for (const { name, value } of wanted.attributes) if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  if (kind(wanted) === "elements") showChildren(shown, [...wanted.children]);
  else if (shown.textContent !== wanted.textContent) shown.textContent = wanted.textContent;
}

// Gives `select` these options, and keeps what is chosen if it is one of them. Nothing changes if it has them in another
// order: programs change their order with their gains, and a list that is open must not.
export function showOptions(select: HTMLSelectElement, entries: readonly (readonly [value: string, text: string])[]): void {
  const shown = new Set([...select.options].map((option) => option.value));
  if (shown.size === entries.length && entries.every(([value]) => shown.has(value))) return;
  const chosen = select.value;
  select.replaceChildren(...entries.map(([value, text]) => make("option", { text, attributes: { value } })));
  select.value = chosen;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// A value of a CSS variable of the theme.
export function cssVariable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
