import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

/** Whether the page is being printed. It is drawn again before the browser lays it out on paper. */
export function usePrinting(): boolean {
  const printing = useSignal(false);
  // In the moment in which rows are there: who prints at once would get only those in sight.
  useLayoutEffect(() => {
    const follow = ({ type }: Event) => {
      printing.value = type === "beforeprint";
    };
    for (const type of ["beforeprint", "afterprint"]) window.addEventListener(type, follow);
    return () => {
      for (const type of ["beforeprint", "afterprint"]) window.removeEventListener(type, follow);
    };
  }, []);
  return printing.value;
}
