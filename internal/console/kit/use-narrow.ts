import { useLayoutEffect, useState } from "preact/hooks";

/** As in `base.css`: the page scrolls, and no table takes the remaining height. */
const narrow = "(max-width: 600px)";

/** Whether the window is that of a phone. */
export function useNarrow(): boolean {
  const [isNarrow, set] = useState(() => matchMedia(narrow).matches);
  useLayoutEffect(() => {
    const query = matchMedia(narrow);
    const follow = () => set(query.matches);
    follow();
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return isNarrow;
}
