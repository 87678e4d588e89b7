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

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// A value of a CSS variable of the theme.
export function cssVariable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
