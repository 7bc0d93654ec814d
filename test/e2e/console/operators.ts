import { expect, test } from "bun:test";
import { join } from "node:path";
import { writeFileAtomic } from "../../../internal/base/files/file.ts";
import type { ConsoleFleet } from "../../harness/console.ts";

const webTeam = `roles:
  web-team:
    jobs:
      - {functions: [test.*, service.restart], targets: 'web-*'}
      - {functions: [state.apply], targets: 'web-1*', approvals: 1}
    rollouts: [list, show, start]
`;
const offered = `[...document.querySelectorAll("[name=token-role]")].map(({ value }) => value)`;
const rowsShown = `[...document.querySelectorAll("tbody tr")].map((row) =>
  [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim()))`;

/** The page Operators. */
export function operatorsCases(at: () => ConsoleFleet): void {
  test("operators: each role in force says what it allows and who has it; a file that is broken is told", async () => {
    const { page, master, open, inspect, rest } = at();
    const file = join(master.dir, "roles.yaml");
    writeFileAtomic(file, webTeam, 0o600);
    expect((await rest("POST", "tokens", { name: "web-ci", roles: ["web-team"] })).status).toBe(201);
    await open("/operators?view=roles", "Operators");
    await page.until(`document.querySelectorAll("tbody tr").length === 6`);
    expect(await page.evaluate<string[][]>(rowsShown)).toContainEqual([
      ...["web-team", "roles file", "jobs, rollouts", "", "web-ci"],
    ]);
    expect(await inspect("roles")).toEqual([]);
    await page.evaluate(`document.querySelector('tbody a[href$="role=web-team"]').click()`);
    await page.until(`document.querySelector("#role-head")?.innerText === "web-team"`);
    await page.until(`document.querySelectorAll("tbody tr").length === 3`);
    expect(await page.evaluate<string[][]>(rowsShown)).toEqual([
      ["jobs run test.*, service.restart", "web-*", "newest of base", "none"],
      ["jobs run state.apply", "web-1*", "newest of base", "1"],
      ["rollouts list, show, start", "", "", "none"],
    ]);
    expect(await inspect("role")).toEqual([]);
    await open("/operators?view=roles&role=nobodys", "Operators");
    expect(await page.until<string>(`document.querySelector(".empty h2")?.innerText`)).toBe(
      "The role nobodys does not exist",
    );

    writeFileAtomic(file, "roles: {web-team: {jobs: all}}\n", 0o600);
    await open("/operators?view=roles", "Operators");
    expect(await page.until<string>(`document.querySelector(".notice.failed")?.innerText`)).toContain(
      "roles.yaml",
    );
    writeFileAtomic(file, webTeam, 0o600);
  });

  test("operators: a token is created, shown once, and revoked; a viewer is offered none of it", async () => {
    const { page, master, open, inspect, rest, signIn, signOut } = at();
    await open("/operators", "Operators");
    await page.until(`document.querySelector("main .table") !== null`);
    expect(await inspect("operators")).toEqual([]);
    await open("/operators?view=tokens", "Operators");
    await page.click(".tools .button.primary");
    await page.type("#token-name", "nightly");
    // The roles of the masters are offered: those of their file as well.
    await page.until(`document.querySelectorAll("[name=token-role]").length > 0`);
    expect(await page.evaluate<string[]>(offered)).toEqual([
      ...["admin", "operator", "approver", "viewer", "auditor", "web-team"],
    ]);
    await page.click("dialog .button.primary");
    expect(await page.until<string>(`document.querySelector("#token-refused")?.innerText`)).toContain(
      "roles",
    );
    expect(await inspect("token-new")).toEqual([]);
    await page.click("[name=token-role][value=viewer]");
    await page.click("dialog .button.primary");
    const token = await page.until<string>(`document.querySelector("#token-text")?.innerText`);
    expect(token).toMatch(/^svct_[\w-]{43}$/);
    await page.click("dialog .button.primary");
    await page.until(`document.querySelector("[aria-label='Revoke nightly']") !== null`);
    expect(await inspect("tokens")).toEqual([]);
    await rest("POST", "tokens", { name: "watcher", roles: ["operator"] });
    await signOut();
    await signIn(token);
    // A viewer has no such pages, and is refused when it asks all the same.
    const links = await page.evaluate<string>(`document.querySelector("nav").innerText`);
    expect(links).not.toContain("Operators");
    const requested = await page.evaluate<number[]>(`fetch("/api/v1/sessions/current")
      .then((answer) => answer.json())
      .then(({ csrf }) => Promise.all(
        [["GET", "operators"], ["GET", "roles"], ["DELETE", "tokens/nightly"], ["POST", "approvals/apr-1/approve"], ["GET", "audit"]].map(
          ([method, path]) => fetch("/api/v1/" + path, { method, headers: { "X-CSRF-Token": csrf } })
            .then(({ status }) => status))))`);
    expect(requested).toEqual([403, 403, 403, 403, 403]);
    await signOut();
    await signIn(master.token);

    await open("/operators?view=tokens", "Operators");
    await page.click("[aria-label='Revoke nightly']");
    await page.until(
      `document.querySelector("dialog")?.innerText.includes("The decision takes effect at once.")`,
    );
    await page.click("dialog .button.danger");
    await page.until(`document.querySelector("[aria-label='Revoke nightly']") === null`);
    const { text } = await rest("GET", "audit?action=tokens.revoke");
    expect(text).toContain('"via":"console"');
    // The old address of a view is never the page of an operator.
    await open("/overview", "Overview");
    await page.evaluate(`(() => {
      globalThis.titles = [];
      new MutationObserver(() => titles.push(document.querySelector("h1")?.innerText)).observe(document.body, {
        ...{ childList: true, subtree: true, characterData: true },
      });
      history.pushState(null, "", "/console/operators/tokens");
      dispatchEvent(new PopStateEvent("popstate"));
    })()`);
    await page.until(`document.querySelector("[aria-label='Views of operators']") !== null`);
    expect(await page.evaluate<string>("location.search")).toBe("?view=tokens");
    expect(await page.evaluate<string[]>("titles")).not.toContain("tokens");
    await open("/operators/nobody");
    expect(await page.until<string>(`document.querySelector(".empty")?.innerText`)).toContain(
      "svc operator list",
    );
  });
}
