import type { App } from "../../api/mod.ts";
import type { ListedPeel } from "./columns.tsx";

/** What each view of a peel gets. */
export interface ViewProps {
  app: App;
  peel: ListedPeel;
}
