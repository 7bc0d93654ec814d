import type { MetricsRegistry } from "../../program/health/mod.ts";

/** The Git repositories of a master, read at each scrape. */
export interface GitView {
  /** Absent on a master that does not read them now. */
  gitRefused?(): number | undefined;
}

/** Adds the metric of refs whose content is not used. */
export function showGit({ gauge }: Pick<MetricsRegistry, "gauge">, view: () => GitView): void {
  gauge(
    "svc_gitfs_refused",
    "Branches and tags of the Git repositories whose newest content this master does not use, and environments that it does not publish; the check gitfs has the reasons",
    () => view().gitRefused?.(),
  );
}
