import type { App, ListedPeel } from "../../api/mod.ts";

/** What each view of a peel gets. */
export interface ViewProps {
  app: App;
  peel: ListedPeel;
}
