import type { Live } from "./live.ts";

/**
 * Closes a stream while nobody sees its tab. A browser has six connections to a master: with as many tabs in the
 * background, none would be left to load a page. When the tab is shown, it continues and reads again.
 *
 * @returns what ends it
 */
export function restWhileHidden(document: Document, live: Pick<Live, "rest">): () => void {
  let resume: (() => void) | undefined;
  const follow = () => {
    if (document.visibilityState === "hidden") resume ??= live.rest();
    else {
      resume?.();
      resume = undefined;
    }
  };
  follow();
  document.addEventListener("visibilitychange", follow);
  return () => document.removeEventListener("visibilitychange", follow);
}
