import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type ConsoleFleet, startConsoleFleet } from "../harness/console.ts";
import { approvalsCases } from "./console/approvals.ts";
import { auditCases, brokenChainCases } from "./console/audit.ts";
import { clusterCases } from "./console/cluster.ts";
import { doorCases } from "./console/doors.ts";
import { enrollmentsCases } from "./console/enrollments.ts";
import { eventsCases } from "./console/events.ts";
import { jobsCases } from "./console/jobs.ts";
import { keysCases } from "./console/keys.ts";
import { manyPeelsCases } from "./console/many-peels.ts";
import { operatorsCases } from "./console/operators.ts";
import { overviewCases } from "./console/overview.ts";
import { peelsCases } from "./console/peels.ts";
import { reactorCases } from "./console/reactor.ts";
import { rolloutsCases } from "./console/rollouts.ts";
import { sessionCases } from "./console/session.ts";
import { signInCases } from "./console/sign-in.ts";
import { statesCases } from "./console/states.ts";

// The console in a real Chromium, from a compiled master, with compiled peels. All of its tests share them: each page
// has its cases in a file below console/.

setDefaultTimeout(60_000);

let fleet: ConsoleFleet;
const at = () => fleet;

beforeAll(async () => {
  fleet = await startConsoleFleet(["--reactor-storm-rate", "1"]);
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

signInCases(at);
overviewCases(at);
peelsCases(at);
jobsCases(at);
rolloutsCases(at);
enrollmentsCases(at);
auditCases(at);
approvalsCases(at);
operatorsCases(at);
doorCases(at);
keysCases(at);
statesCases(at);
eventsCases(at);
reactorCases(at);
clusterCases(at);
// These change the fleet: the cases of other pages stand above.
sessionCases(at);
brokenChainCases(at);
manyPeelsCases(at);

test("nothing left the master, and nothing was against the policy", () => {
  const { page, master } = fleet;
  const strangers = page.requests.filter(
    (url) => !url.startsWith(`${master.url}/`) && !url.startsWith("data:"),
  );
  expect(strangers).toEqual([]);
  // Refusals that the cases ask for are told by the browser as well.
  const reported = page.complaints.filter(
    (text) =>
      !/status of (?:400|401|403|404|409|5\d\d)|net::ERR|PerformanceIssue|NavigationEntryMarkedSkippable/.test(
        text,
      ),
  );
  expect(reported).toEqual([]);
});
