import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { makeDirectory, writeFileAtomic } from "../../../internal/base/files/file.ts";
import { requestOf } from "../../../internal/console/api/client.ts";
import { routes } from "../../../internal/console/api/routes.ts";
import { nameOfScope, type Scope } from "../../../internal/fleet/operation/scope.ts";
import { ConsoleClient } from "../../harness/console-client.ts";
import { enrollNew, newEnrollee } from "../../harness/enrollee.ts";
import { type AnyOperation, doorNamed } from "../../harness/joined-doors.ts";
import { inputsOf } from "../../harness/operation-inputs.ts";
import { type BuiltInRole, builtInRoles, mayUse } from "../../harness/role-table.ts";
import { until } from "../../harness/until.ts";
import type { Visitor } from "../../harness/visitor.ts";
import type { Company } from "./company.ts";

const repository = join(import.meta.dir, "../../..");
type RouteName = keyof typeof routes;

/** What there is to act on. */
interface Things {
  peel: string;
  enrollment: string;
  job: string;
  running: string;
  paused: string;
  approval: string;
}

interface Offered {
  place(things: Things): string;
  button: string;
  /** It is offered for rows that are chosen. */
  ofRows?: true;
}

/** Where each change is offered, and by which button or link. */
const offers: Partial<Record<RouteName, Offered>> = {
  approveEnrollment: { place: ({ enrollment }) => `/enrollments/${enrollment}`, button: "Approve" },
  rejectEnrollment: { place: ({ enrollment }) => `/enrollments/${enrollment}`, button: "Reject" },
  revokeEnrollment: { place: ({ peel }) => `/peels/${peel}`, button: "Revoke" },
  labelEnrollment: { place: () => "/peels", button: "Label 1", ofRows: true },
  createJob: { place: () => "/jobs", button: "New job" },
  cancelJob: { place: ({ job }) => `/jobs/${job}`, button: "Cancel the job" },
  startRollout: { place: () => "/rollouts", button: "New rollout" },
  pauseRollout: { place: ({ running }) => `/rollouts/${running}`, button: "Pause" },
  resumeRollout: { place: ({ paused }) => `/rollouts/${paused}`, button: "Resume" },
  abortRollout: { place: ({ running }) => `/rollouts/${running}`, button: "Abort" },
  approveRequest: { place: ({ approval }) => `/approvals/${approval}`, button: "Approve" },
  denyRequest: { place: ({ approval }) => `/approvals/${approval}`, button: "Deny" },
  createToken: { place: () => "/operators?view=tokens", button: "Create a token" },
  revokeToken: { place: () => "/operators?view=tokens", button: "Revoke" },
  resetBreakers: { place: () => "/reactor", button: "Close" },
  testEvent: { place: () => "/reactor/test", button: "Try it" },
};

/** Each page by the name of its link, with the scope of what it shows. */
const pages: Readonly<Record<string, Scope | undefined>> = {
  Overview: undefined,
  Peels: { kind: "facts", action: "read" },
  Enrollments: { kind: "enrollments", action: "list" },
  Jobs: { kind: "jobs", action: "list" },
  Rollouts: { kind: "rollouts", action: "list" },
  States: { kind: "states", action: "read" },
  Reactor: { kind: "reactor", action: "rules" },
  Events: { kind: "events", action: "read" },
  Audit: { kind: "audit", action: "read" },
  Approvals: { kind: "approvals", action: "list" },
  Operators: { kind: "operators", action: "list" },
  Cluster: { kind: "cluster", action: "read" },
};

/** The page has read what it shows, or says why it shows nothing. */
const isReady = `document.querySelector("main .empty, main .table, main dl.facts, main form") !== null
  && !document.querySelector("main").innerText.includes("Reading")`;

/** The routes that the console uses. */
const names = [
  ...new Set(
    [
      ...new Glob("internal/console/{pages,app,calls,outlook,targets}/**/*.{ts,tsx}").scanSync(repository),
    ].flatMap((path) =>
      [...readFileSync(join(repository, path), "utf8").matchAll(/\broutes\.(\w+)/g)].map(
        ([, name = ""]) => name,
      ),
    ),
  ),
].toSorted() as RouteName[];
const scopeOf = (name: RouteName) => doorNamed(name).operation.scope;
const isAllowed = (role: BuiltInRole, scope: AnyOperation["scope"] | undefined) =>
  scope === undefined ||
  typeof scope === "string" ||
  mayUse[nameOfScope(scope) as keyof typeof mayUse].includes(role);

/** Each built-in role at each page and each action of the console, and at the requests behind them. */
export function roleCases(at: () => Company): void {
  const visitors = new Map<BuiltInRole, Visitor>();
  /** With what each signs in. */
  const sessions = new Map<BuiltInRole, () => Promise<{ token: string } | { link: string }>>();
  let things: Things;

  test("roles: the table of this test has every change that the console can ask for", () => {
    // A question about what one may do is asked by forms, and changes nothing.
    const changes = names.filter((name) => routes[name].method !== "GET" && name !== "mayDo");
    expect(Object.keys(offers).toSorted()).toEqual(changes.toSorted());
  });

  test("roles: who may not read a page is not offered it, and is told so at its address", async () => {
    const { hire, comeIn, visit } = at();
    for (const role of builtInRoles) {
      if (role === "admin") {
        // A token makes no token: an administrator comes in as a person.
        const adam = await hire("adam", role);
        visitors.set(role, await comeIn(adam));
        // A link is good for a minute.
        sessions.set(role, async () => ({ link: (await adam.link()).link.split("#link=")[1] ?? "" }));
      } else {
        const visitor = await visit(`a-${role}`, role);
        visitors.set(role, visitor);
        sessions.set(role, async () => ({ token: visitor.token }));
      }
    }
    await Promise.all(
      [...visitors].map(async ([role, { page, open, go }]) => {
        const offered = Object.keys(pages).filter((name) => isAllowed(role, pages[name]));
        const shown = await page.evaluate<string[]>(
          `[...document.querySelectorAll("nav[aria-label=Pages] li a")].map((one) => one.innerText.trim())`,
        );
        expect([role, shown]).toEqual([role, offered]);
        for (const name of Object.keys(pages).filter((one) => !offered.includes(one))) {
          await go(`/${name.toLowerCase()}`);
          await page.until(
            `document.querySelector("main .empty h1")?.innerText === "Your roles do not include this page"`,
          );
        }
        await open("/overview", "Overview");
        await page.until(`document.querySelector(".figures")?.getAttribute("aria-busy") === "false"`);
        expect(await page.evaluate<number>(`document.querySelectorAll("main [role=alert]").length`)).toBe(0);
      }),
    );
  });

  test("roles: each action is offered to those who may do it, and to nobody else", async () => {
    things = await makeThings(at());
    const places = Map.groupBy(Object.entries(offers), ([, { place }]) => place(things));
    await Promise.all(
      [...visitors].map(async ([role, { page, buttons, go }]) => {
        for (const [place, actions] of places) {
          await go(place);
          await page.until(isReady);
          // A role that can do nothing with a row has no box to choose it with.
          if (actions.some(([, { ofRows }]) => ofRows))
            await page.evaluate(`document.querySelector("tbody input[type=checkbox]")?.click()`);
          const allowed = actions.filter(([name]) => isAllowed(role, scopeOf(name as RouteName)));
          // What is offered may depend on more than one answer.
          const shown = await until(buttons, (all) =>
            allowed.every(([, { button }]) => all.includes(button)),
          );
          const offered = actions.filter(([, { button }]) => shown.includes(button));
          expect([role, offered.map(([name]) => name)]).toEqual([role, allowed.map(([name]) => name)]);
        }
        await page[Symbol.asyncDispose]();
      }),
    );
  });

  test("roles: the requests that were not offered are refused with 403, and the others are not", async () => {
    const { fleet } = at();
    await Promise.all(
      [...sessions].map(async ([role, show]) => {
        // As a script in the page would ask, which has the cookie and the token of the session.
        const client = new ConsoleClient();
        const door = { url: fleet.master.url, ca: fleet.bus.caPem };
        expect((await client.signIn(door, await show())).status).toBe(201);
        const refused: string[] = [];
        for (const name of names) {
          const { method } = routes[name];
          const { operation } = doorNamed(name);
          const [sample] = inputsOf(operation);
          // Whether someone may cancel a job is judged by the job.
          const input = operation.name === "jobs.cancel" ? { jid: things.job } : sample;
          const { path, body } = requestOf(routes[name], input);
          const { status } = await client.request(
            door,
            method,
            path,
            body === undefined ? {} : { body: JSON.parse(body) },
          );
          expect([429, 401]).not.toContain(status);
          if (status === 403) refused.push(name);
        }
        expect([role, refused]).toEqual([role, names.filter((name) => !isAllowed(role, scopeOf(name)))]);
      }),
    );
    await fleet.rest("POST", `jobs/${things.job}/cancel`);
    for (const id of [things.running, things.paused]) await fleet.rest("POST", `rollouts/${id}/abort`);
  });
}

/** One of everything that can be acted on, in the state in which that is possible. */
async function makeThings({ fleet, visit }: Company): Promise<Things> {
  const { rest, bus, master, peels } = fleet;
  const [peel, other] = peels;
  const door = { url: master.url, ca: bus.caPem };
  const sleep = { function: "cmd.run", args: { command: "sleep 600" }, timeout: "10m" };
  const job = (await rest("POST", "jobs", { targets: [other], ...sleep })).json as { jid: string };
  const startRollout = async (target: string) => {
    const waves = { canary: 1, waves: 1, wave_wait: "10m", timeout: "10m" };
    const { json } = await rest("POST", "rollouts", { target, function: "test.ping", ...waves });
    return (json as { id: string }).id;
  };
  const [running, paused] = [await startRollout("web-*"), await startRollout("silent-*")];
  await rest("POST", `rollouts/${paused}/pause`);
  const requester = await visit("asker", "careful");
  const requested = await requester.request("POST", "jobs", { target: "*", function: "test.ping" });
  const { approval } = JSON.parse(requested.text) as { approval: string };
  await requester.page[Symbol.asyncDispose]();
  await openBreaker(fleet);
  return {
    peel,
    enrollment: await enrollNew(door, newEnrollee("waits-1")),
    job: job.jid,
    running,
    paused,
    approval,
  };
}

/** Two events within a second, where one is allowed. */
async function openBreaker({ rest, master, peels }: Company["fleet"]): Promise<void> {
  makeDirectory(join(master.dir, "reactor"), 0o700);
  const rule = "rules: [{name: echo, match: [burst/*], do: [{emit: {tag: echo/heard}}]}]\n";
  writeFileAtomic(join(master.dir, "reactor", "echo.yaml"), rule, 0o600);
  const rules = async () => (await rest("GET", "reactor/rules")).text;
  await until(async () => (await rules()).includes('"echo"'));
  for (const tag of ["burst/1", "burst/2"])
    await rest("POST", "jobs", { target: peels[0], function: "event.send", args: { tag } });
  await until(async () => (await rules()).includes("breaker_open_until"));
}
