import { type ReadonlySignal, signal } from "@preact/signals";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const key = "svc-theme";

/** Light, dark, or as the system has it; kept in this browser. */
export interface ThemeSwitch {
  readonly theme: ReadonlySignal<Theme>;
  set(theme: Theme): void;
}

/** @param storage may be forbidden in a browser: then the choice lasts as long as the page */
export function createTheme(root: HTMLElement, storage: Pick<Storage, "getItem" | "setItem">): ThemeSwitch {
  const theme = signal<Theme>("system");
  const set = (next: Theme) => {
    theme.value = next;
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      storage.setItem(key, next);
    } catch {
      // Only this page then.
    }
  };
  try {
    const kept = storage.getItem(key);
    set(themes.find((one) => one === kept) ?? "system");
  } catch {
    set("system");
  }
  return { theme, set };
}
