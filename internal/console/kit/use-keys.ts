import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Binding, Keys } from "./keys.ts";

/**
 * Binds keys while a page is shown, from the same moment on.
 *
 * @param on what the bindings depend on: when it changes, they are bound again
 */
export function useKeys(
  keys: Keys,
  bindings: Readonly<Record<string, Binding>>,
  on: readonly unknown[],
): void {
  useLayoutEffect(() => keys.bind(bindings), [keys, ...on]);
}

/** A field to which `/` leads. @param title what the list of keys says of it */
export function useSearchField(keys: Keys, title: string): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useKeys(keys, { "/": { title, run: () => field.current?.focus() } }, []);
  return field;
}
