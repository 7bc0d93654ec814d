import type { ConsolePage } from "../api/mod.ts";
import { approvalsPage } from "../pages/approvals/mod.ts";
import { auditPage } from "../pages/audit/mod.ts";
import { clusterPage } from "../pages/cluster/mod.ts";
import { enrollmentsPage } from "../pages/enrollments/mod.ts";
import { eventsPage } from "../pages/events/mod.ts";
import { jobsPage } from "../pages/jobs/mod.ts";
import { operatorsPage } from "../pages/operators/mod.ts";
import { overviewPage } from "../pages/overview/mod.ts";
import { peelsPage } from "../pages/peels/mod.ts";
import { reactorPage } from "../pages/reactor/mod.ts";
import { rolloutsPage } from "../pages/rollouts/mod.ts";
import { statesPage } from "../pages/states/mod.ts";

/** The pages of the console, in the order of the navigation. */
export const pages: readonly ConsolePage[] = [
  overviewPage,
  peelsPage,
  enrollmentsPage,
  jobsPage,
  rolloutsPage,
  statesPage,
  reactorPage,
  eventsPage,
  auditPage,
  approvalsPage,
  operatorsPage,
  clusterPage,
];

/** The page of a path. */
export function pageAt(path: string): ConsolePage | undefined {
  return pages.find((page) => path === page.path || path.startsWith(`${page.path}/`));
}
