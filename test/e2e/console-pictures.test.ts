import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { makeDirectory, writeFileAtomic } from "../../internal/base/files/file.ts";
import { type ShownFleet, startShownFleet } from "../harness/shown-fleet/start.ts";
import { smallPng } from "../harness/small-png.ts";
import { appearanceCases } from "./console/appearance.ts";
import { alikeCases } from "./console/shown-alike.ts";

// Every page of the console with something to show, in both themes and from 360 px to 4K: no barrier, and nothing cut.
// The pictures of the documentation are made here, of a fleet whose names are made up.

setDefaultTimeout(120_000);

const pictures = join(import.meta.dir, "../../docs/console");
const writes = process.env.SVC_WRITE_REFERENCE !== undefined;
let fleet: ShownFleet;

beforeAll(async () => {
  // The name of the machine that makes the pictures is not shown, and no path of it.
  const within = writes ? ["unshare", "--uts", "sh", "-c", 'hostname master-1; exec "$@"', "sh"] : [];
  fleet = await startShownFleet(within, writes ? ["--roles-file", "/var/lib/svc/roles.yaml"] : []);
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

interface Picture {
  name: string;
  path: string;
  /** True once the page shows all of it. */
  ready: string;
  /** What is done on the page then. */
  act?(fleet: ShownFleet): Promise<unknown>;
}

const rows = (count: number) => `document.querySelectorAll("tbody:not([aria-hidden]) tr").length >= ${count}`;
const shown: readonly Picture[] = [
  {
    ...{ name: "overview", path: "/overview" },
    ready: `document.body.innerText.includes("Latest jobs") && [".host-grid path", ".curve"].every((one) => document.querySelector(one) !== null)`,
  },
  { name: "peels", path: "/peels", ready: rows(20) },
  { name: "peel", path: "/peels/web-3.example.com", ready: `document.querySelector("#peel-head") !== null` },
  { name: "peel-facts", path: "/peels/web-3.example.com/facts", ready: rows(10) },
  { name: "peel-settings", path: "/peels/web-3.example.com/settings", ready: rows(4) },
  {
    name: "peel-states",
    path: "/peels/web-3.example.com/states",
    ready: `document.querySelector(".diff") !== null`,
  },
  { name: "peel-timeline", path: "/peels/web-3.example.com/timeline", ready: rows(4) },
  { name: "peel-jobs", path: "/peels/web-3.example.com/jobs", ready: rows(2) },
  { name: "enrollments", path: "/enrollments", ready: rows(3) },
  {
    name: "enrollment",
    path: "/enrollments/{enrollment}",
    ready: `document.querySelector(".compare") !== null`,
  },
  { name: "jobs", path: "/jobs", ready: rows(4) },
  { name: "job", path: "/jobs/{job-mixed}", ready: rows(10) },
  { name: "job-running", path: "/jobs/{job-running}", ready: rows(4) },
  {
    name: "job-return",
    path: "/jobs/{job-mixed}/web-1.example.com",
    ready: `document.querySelector(".output pre") !== null`,
  },
  { name: "rollouts", path: "/rollouts", ready: rows(2) },
  {
    name: "rollout",
    path: "/rollouts/{rollout}",
    ready: `document.querySelector(".waves [data-outcome]") !== null`,
  },
  {
    ...{
      name: "new-rollout",
      path: "/rollouts/new",
      ready: `document.querySelector("#rollout-function") !== null`,
    },
    async act({ page }) {
      await page.type("#rollout-function", "state.apply");
      await page.type("#rollout-target", "T@env:prod");
      await page.until(`document.querySelector("[aria-label='Planned waves']") !== null`);
    },
  },
  { name: "states", path: "/states", ready: rows(6) },
  { name: "events", path: "/events", ready: rows(6) },
  { name: "audit", path: "/audit", ready: rows(20) },
  { name: "audit-entry", path: "/audit/20", ready: `document.querySelector("#signature-head") !== null` },
  { name: "approvals", path: "/approvals", ready: rows(2) },
  { name: "approval", path: "/approvals/{approval}", ready: `document.querySelector("dl.request") !== null` },
  { name: "operators", path: "/operators", ready: rows(4) },
  { name: "tokens", path: "/operators?view=tokens", ready: rows(3) },
  { name: "roles", path: "/operators?view=roles", ready: rows(3) },
  { name: "cluster", path: "/cluster", ready: rows(2) },
];

/** Clicks the button with this text, and waits for the dialog that it opens. */
const press =
  (text: string, from = "main") =>
  async ({ page }: ShownFleet) => {
    const button = `[...document.querySelectorAll("${from} button")].find((one) => one.innerText.startsWith("${text}"))`;
    await page.until(`${button} && (${button}.click(), true)`);
    await page.until(`document.querySelector("dialog[open]") !== null`);
  };
/** The breaker closes by itself after some minutes. */
const first: readonly Picture[] = [
  { name: "reactor", path: "/reactor", ready: rows(3) },
  { name: "breaker-close", path: "/reactor", ready: rows(3), act: press("Close") },
];
const empty = `document.querySelector(".empty") !== null`;
const dialogs: readonly Picture[] = [
  { name: "keys", path: "/peels", ready: rows(20), act: ({ page }) => page.press("?") },
  {
    ...{ name: "palette", path: "/overview", ready: `document.querySelector(".find") !== null` },
    async act({ page }) {
      await page.click(".find");
      await page.type(".palette input", "web");
      await page.until(`document.querySelectorAll(".palette [role=option]").length > 6`);
    },
  },
  {
    ...{
      name: "new-job",
      path: "/jobs/new?function=cmd.run&target=T@env:prod",
      ready: `document.querySelector("#arg-command") !== null`,
    },
    async act({ page }) {
      await page.type("#arg-command", "systemctl restart nginx");
      await page.until(`document.querySelector("form .tags") !== null`);
    },
  },
  {
    ...{
      name: "new-job-confirm",
      path: "/jobs/new?function=pkg.upgrade&target=*",
      ready: `document.querySelector("form .tags") !== null`,
    },
    act: press("Run"),
  },
  { name: "job-cancel", path: "/jobs/{job-running}", ready: rows(4), act: press("Cancel the job") },
  { name: "job-again", path: "/jobs/{job-mixed}", ready: rows(10), act: press("Run again") },
  {
    name: "peel-revoke",
    path: "/peels/web-3.example.com",
    ready: `document.querySelector("#peel-head") !== null`,
    act: press("Revoke"),
  },
  {
    ...{ name: "enrollments-approve", path: "/enrollments", ready: rows(3) },
    async act(shownFleet) {
      await shownFleet.page.click(".tools button");
      await press("Approve")(shownFleet);
    },
  },
  { name: "rollout-abort", path: "/rollouts/{rollout}", ready: rows(3), act: press("Abort") },
  {
    name: "approval-approve",
    path: "/approvals/{approval}",
    ready: `document.querySelector("dl.request") !== null`,
    act: press("Approve"),
  },
  { name: "token-create", path: "/operators?view=tokens", ready: rows(3), act: press("Create a token") },
  { name: "token-revoke", path: "/operators?view=tokens", ready: rows(3), act: press("Revoke") },
  {
    ...{ name: "event", path: "/events?tag=disk/**", ready: rows(4) },
    async act({ page }) {
      await page.click("tbody tr td a");
      await page.until(`document.querySelector("dialog[open]") !== null`);
    },
  },
  {
    name: "reactor-test",
    path: "/reactor/test?tag=disk/full&source=web-1.example.com&data=%7B%22percent%22%3A97%7D",
    ready: `document.querySelector("#try-tag") !== null`,
    async act({ page }) {
      await page.click("form .button.primary");
      await page.until(rows(3));
    },
  },
  { name: "operator", path: "/operators/ben", ready: `document.querySelector("dl.facts") !== null` },
  { name: "peel-events-empty", path: "/peels/web-3.example.com/events", ready: empty },
  { name: "peels-by-label", path: "/peels?by=label:env", ready: rows(2) },
  { name: "peels-empty", path: "/peels?target=nobody", ready: empty },
  {
    name: "peels-wrong",
    path: "/peels",
    ready: rows(20),
    async act({ page }) {
      await page.type("#peels-target", "web-* and (");
      await page.until(`document.querySelector("#peels-target-problem").innerText !== ""`);
    },
  },
  { name: "jobs-empty", path: "/jobs?function=no.such", ready: empty },
  { name: "audit-empty", path: "/audit?by=nobody", ready: empty },
  { name: "events-empty", path: "/events?tag=no/such", ready: empty },
  { name: "no-peel", path: "/peels/nobody", ready: empty },
  { name: "no-page", path: "/nothing", ready: empty },
];

/** Keeps the pictures of the documentation: of pages in both themes, of dialogs in the light one. */
function save(name: string) {
  if (!writes) return undefined;
  makeDirectory(pictures, 0o755);
  const isPage = [...first.slice(0, 1), ...shown].some((one) => one.name === name);
  return (theme: "light" | "dark", picture: Uint8Array) => {
    if (theme === "light" || isPage)
      writeFileAtomic(join(pictures, `${name}-${theme}.png`), smallPng(picture), 0o644);
  };
}

test.each([...first, ...shown, ...dialogs])("$name", async ({ name, path, ready, act }) => {
  const { page, inspect, ids, url } = fleet;
  await page.open(`${url}/console${path.replace(/\{([\w-]+)\}/, (_, of: string) => ids[of] ?? "")}`);
  await page.until(ready);
  await act?.(fleet);
  expect(await inspect(name, save(name))).toEqual([]);
});

appearanceCases(() => fleet);
alikeCases(() => fleet);

test("without the role, without a session, and without a master", async () => {
  const { page, open, inspect, signIn, signOut, viewer, operator, stopMaster, url } = fleet;
  await signOut();
  expect(await inspect("sign-in", save("sign-in"))).toEqual([]);
  await page.type("#token", "svct_wrong");
  await page.press("Enter");
  await page.until(`document.querySelector("#token-problem").innerText !== ""`);
  expect(await inspect("sign-in-refused")).toEqual([]);
  await page.open("about:blank");
  await signIn(viewer);
  await page.open(`${url}/console/audit`);
  await page.until(empty);
  expect(await inspect("no-role")).toEqual([]);
  await signOut();
  await signIn(operator);
  await open("/jobs", "Jobs");
  await page.until(rows(4));
  await stopMaster();
  await page.until(`document.querySelector(".old") !== null`);
  expect(await inspect("old", save("old"))).toEqual([]);
});
