import type { ReadonlySignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** Since when the page below it shows what was true then, milliseconds since the Unix epoch; `undefined` while it is true. */
export const OldSince = createContext<ReadonlySignal<number | undefined> | undefined>(undefined);

/** Whether what is shown may not be true any more. */
export const useIsOld = (): boolean => useContext(OldSince)?.value !== undefined;
