/** What a key does on the page that is shown. */
export interface Binding {
  /** For the list of keys. */
  title: string;
  /** Absent where the browser itself does it. */
  run?(): void;
}

/** Keys: a single one such as `j`, or two in a row such as `g j`. */
export interface Keys {
  /** Adds bindings; a later one takes precedence over an earlier one. Returns what removes them. */
  bind(bindings: Readonly<Record<string, Binding>>): () => void;
  /** All of them, for the list of keys. */
  list(): [keys: string, title: string][];
  /** Handles a key; `true` when it did something. */
  press(key: string): boolean;
}

/** With Ctrl or Cmd, and also while something is typed. */
export const palette = "Ctrl+K";

/** How long the first of two keys is remembered. */
const chordMs = 1_500;

/** @param monotonic milliseconds on a clock that never jumps */
export function createKeys(monotonic: () => number): Keys {
  const layers: Readonly<Record<string, Binding>>[] = [];
  let first: { key: string; at: number } | undefined;
  const find = (keys: string) => layers.findLast((layer) => Object.hasOwn(layer, keys))?.[keys];
  const opens = (key: string) =>
    layers.some((layer) => Object.keys(layer).some((keys) => keys.startsWith(`${key} `)));
  return {
    bind(bindings) {
      layers.push(bindings);
      return () => {
        const at = layers.lastIndexOf(bindings);
        if (at >= 0) layers.splice(at, 1);
      };
    },
    list() {
      const all = new Map(layers.flatMap((layer) => Object.entries(layer)));
      return [...all].map(([keys, { title }]) => [keys, title]);
    },
    press(key) {
      const before = first !== undefined && monotonic() - first.at < chordMs ? `${first.key} ` : "";
      first = undefined;
      const binding = find(before + key) ?? find(key);
      if (binding?.run !== undefined) {
        binding.run();
        return true;
      }
      if (opens(key)) first = { key, at: monotonic() };
      return false;
    },
  };
}

/**
 * Sends the keys of a page to the bindings: not those that are typed into a field, nor those of the browser.
 *
 * @returns what ends it
 */
export function listenToKeys(target: Document, keys: Keys): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.isComposing) return;
    if (target.querySelector("dialog[open]") !== null) return;
    const isPalette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
    if (!isPalette && (event.ctrlKey || event.metaKey || isTyping(event.target))) return;
    if (keys.press(isPalette ? palette : nameOf(event))) event.preventDefault();
  };
  target.addEventListener("keydown", onKey);
  return () => target.removeEventListener("keydown", onKey);
}

/** In a row, the arrows move between rows as j and k do; elsewhere they scroll. */
function nameOf({ key, target }: KeyboardEvent): string {
  const rowKey = { ArrowDown: "j", ArrowUp: "k" }[key];
  return rowKey !== undefined && target instanceof Element && target.closest("tr") !== null ? rowKey : key;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
