import { expect, test } from "bun:test";
import { enrollNew, newEnrollee } from "../../harness/enrollee.ts";
import { until } from "../../harness/until.ts";
import type { Visitor } from "../../harness/visitor.ts";
import { type Company, silent } from "./company.ts";

const ended = "dialog[aria-label='Your session has ended']";
const heading = `document.querySelector("h1")?.innerText`;

/** A form in which someone has typed when the session ends. */
interface Form {
  name: string;
  place: string;
  fill(visitor: Visitor): Promise<void>;
  /** The request that is refused. */
  send(visitor: Visitor): Promise<void>;
  /** Fields with what must stay in them. */
  kept: Record<string, string>;
  /** What the page says when the request that was sent again is done. */
  done: string;
}

/** What was typed when a session ends stays, and the request goes on after a sign-in. */
export function expiredCases(at: () => Company): void {
  const signInAgain = async ({ page }: Visitor, token: string) => {
    await page.type(`${ended} #token`, token);
    await page.press("Enter");
    await page.until(`document.querySelector("${ended}") === null`);
  };

  test("expired: every form keeps what was typed, and goes on after signing in again", async () => {
    const { fleet, visit } = at();
    const door = { url: fleet.master.url, ca: fleet.bus.caPem };
    const waiting = await enrollNew(door, newEnrollee("waits-long"));
    const count = silent.length;
    const forms: Form[] = [
      {
        name: "a new job, with the number of its hosts",
        place: "/jobs/new",
        async fill({ page, choose }) {
          await page.type("#job-function", "cmd.run");
          await page.type("#arg-command", "printf kept");
          await page.type("#job-target", "silent-*");
          await choose(`Run on ${count} peels`);
          await page.type("#confirm-count", `${count}`);
        },
        send: ({ choose }) => choose("Run", "dialog"),
        kept: {
          "#job-function": "cmd.run",
          "#arg-command": "printf kept",
          "#job-target": "silent-*",
          "#confirm-count": `${count}`,
        },
        done: `${heading} === "cmd.run" && location.pathname.includes("/jobs/job-")`,
      },
      {
        name: "the reason of a rejection",
        place: `/enrollments/${waiting}`,
        async fill({ page, choose }) {
          await choose("Reject", ".page-head");
          await page.type("#decide-reason", "not ours");
        },
        send: ({ choose }) => choose("Reject", "dialog"),
        kept: { "#decide-reason": "not ours" },
        done: `document.querySelector(".says").innerText === "1 rejected"`,
      },
      {
        name: "an event that is tried",
        place: "/reactor/test",
        async fill({ page }) {
          await page.type("#try-tag", "disk/full");
          await page.type("#try-source", "web-1.example.com");
          await page.evaluate(`document.querySelector("#try-data").select()`);
          await page.type("#try-data", '{"percent": 95}');
        },
        send: ({ choose }) => choose("Try it"),
        kept: {
          "#try-tag": "disk/full",
          "#try-source": "web-1.example.com",
          "#try-data": '{"percent": 95}',
        },
        done: `document.querySelector("main .table, main .empty") !== null`,
      },
      {
        name: "a search in the audit",
        place: "/audit",
        fill: ({ page }) => page.type("#audit-action", "tokens.create"),
        send: ({ page }) => page.press("Enter"),
        kept: { "#audit-action": "tokens.create" },
        done: `[...document.querySelectorAll("tbody td:nth-child(4)")].some((one) => one.innerText === "tokens.create")`,
      },
    ];
    const visitor = await visit("forgetful", "operator");
    const { page, open } = visitor;
    for (const { name, place, fill, send, kept, done } of forms) {
      await open(place);
      await fill(visitor);
      await page.command("Network.clearBrowserCookies");
      await send(visitor);
      await page.until(`document.querySelector("${ended}") !== null`);
      const values = await page.evaluate<Record<string, string>>(
        `Object.fromEntries(${JSON.stringify(Object.keys(kept))}.map((one) => [one, document.querySelector(one)?.value]))`,
      );
      expect([name, values]).toEqual([name, kept]);
      await signInAgain(visitor, visitor.token);
      await page.until(done);
    }
    expect(JSON.stringify((await fleet.rest("GET", "enrollments?state=rejected")).json)).toContain(waiting);
    const { json } = await fleet.rest("GET", "jobs?function=cmd.run&status=running");
    for (const { jid } of json as { jid: string }[]) await fleet.rest("POST", `jobs/${jid}/cancel`);
    await page[Symbol.asyncDispose]();
  });

  test("expired: a person without a token comes in with another link in another tab, and the page goes on", async () => {
    const { fleet, hire, comeIn } = at();
    const gina = await hire("gina", "admin");
    const first = await comeIn(gina);
    await first.open("/operators?view=tokens", "Operators");
    await first.choose("Create a token");
    await first.page.type("#token-name", "for-gina");
    await first.page.click("[name=token-role][value=viewer]");
    // Signed out in another tab of the same browser: this one is told at once.
    const second = await first.page.tab();
    await second.open(`${fleet.master.url}/console/overview`);
    await second.until(
      `[...document.querySelectorAll("button")].some((one) => one.innerText === "Sign out")`,
    );
    await second.evaluate(
      `[...document.querySelectorAll("button")].find((one) => one.innerText === "Sign out").click()`,
    );
    await first.page.until(`document.querySelector("${ended}") !== null`);
    expect(await first.barriers()).toEqual([]);
    await second.open((await gina.link()).link);
    await first.page.until(`document.querySelector("${ended}") === null`);
    expect(await first.page.evaluate<string>(`document.querySelector("#token-name").value`)).toBe("for-gina");
    expect(await first.page.evaluate<boolean>(`document.querySelector("[value=viewer]").checked`)).toBe(true);
    await first.choose("Create", "dialog");
    await first.page.until(`document.querySelector("#token-text") !== null`);
    for (const page of [second, first.page]) await page[Symbol.asyncDispose]();
  });

  test("expired: what one person asked for is not sent when another one signs in", async () => {
    const { fleet, visit } = at();
    const { page, open, choose } = await visit("leaver", "approver");
    const comer = await visit("comer", "approver");
    await open("/peels/silent-12", "silent-12");
    await choose("Revoke", ".page-head");
    await page.type("#revoke-reason", "in the name of leaver");
    await page.command("Network.clearBrowserCookies");
    await choose("Revoke", "dialog");
    await page.type(`${ended} #token`, comer.token);
    await page.press("Enter");
    await page.until(`document.querySelector("nav .foot strong")?.innerText === "token:comer"`);
    await page.until(`document.querySelector("dialog") === null && ${heading} === "silent-12"`);
    const { json } = await fleet.rest("GET", "peels?target=silent-12");
    expect(json).toMatchObject([{ peel: "silent-12" }]);
    for (const one of [page, comer.page]) await one[Symbol.asyncDispose]();
  });

  test("expired: a person signs out everywhere, in another browser as well, and nobody else with them", async () => {
    const { hire, comeIn, visit } = at();
    const karl = await hire("karl", "viewer");
    const [here, there] = [await comeIn(karl), await comeIn(karl)];
    const other = await visit("bystander", "viewer");
    await here.choose("Your session");
    const said = await here.page.until<string>(`document.querySelector("dialog dl")?.innerText`);
    expect(said).toMatch(/Name\s+karl\s+Roles\s+viewer/);
    expect(await here.barriers()).toEqual([]);
    await here.choose("Sign out everywhere", "dialog");
    await here.page.until(`document.querySelector("#token") !== null`);
    expect((await there.request("GET", "peels")).status).toBe(401);
    // All browsers of the test share the budget of one address, and a page waits for it as well.
    const answered = await until(
      () => other.request("GET", "peels"),
      ({ status }) => status !== 429,
    );
    expect(answered.status).toBe(200);
    await there.page.evaluate(`document.querySelector('nav a[href$="/jobs"]').click()`);
    await there.page.until(`document.querySelector("${ended}") !== null`);
    for (const { page } of [here, there, other]) await page[Symbol.asyncDispose]();
  });
}
