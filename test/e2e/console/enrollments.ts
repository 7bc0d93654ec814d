import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";
import { startPeelBinary } from "../../harness/fleet.ts";
import { until } from "../../harness/until.ts";

interface Listed {
  id: string;
  peel: string;
  fingerprint: string;
  trusted_ca_spki?: string;
}
const names = ["new-1.example.com", "new-2.example.com", "new-3.example.com"] as const;
const said = `document.querySelector("dialog").innerText`;
const peelsShown = `[...document.querySelectorAll("tbody tr td a")].map((one) => one.innerText)`;

/** The page Enrollments. */
export function enrollmentsCases(at: () => ConsoleFleet): void {
  test("enrollments: by keys alone, from both fingerprints to an approved host, and the others rejected", async () => {
    const { bus, master, page, open, rest, inspect } = at();
    await open("/enrollments", "Enrollments");
    expect(await page.until<string>(`document.querySelector(".empty h2")?.innerText`)).toBe("No host waits");
    await using stack = new AsyncDisposableStack();
    for (const id of names) stack.use(startPeelBinary(bus, master.url, id));
    // They appear by themselves.
    await page.until(`${peelsShown}.length === 3`);
    const { json } = await rest("GET", "enrollments");
    const listed = (json as Listed[]).toSorted((one, other) => (one.peel < other.peel ? -1 : 1));
    const { fingerprint } = (await rest("GET", "enroll/ca")).json as { fingerprint: string };
    expect(listed.map(({ trusted_ca_spki: pin }) => pin)).toEqual([fingerprint, fingerprint, fingerprint]);
    const row = await page.evaluate<string>(
      `[...document.querySelectorAll("tbody tr")].find((one) => one.innerText.includes("${names[0]}")).innerText`,
    );
    expect(row).toContain(listed[0]?.fingerprint ?? "none");
    expect(row).toContain(fingerprint.replace("sha256:", "").slice(0, 12));
    expect(await inspect("enrollments")).toEqual([]);

    // Sorted by the name of the peel, so that the first row is known.
    await page.click("thead .sorter");
    await page.press("j");
    await page.press("Enter");
    await page.until(`document.querySelector("h1").innerText === "${names[0]}"`);
    await page.until(`document.querySelector(".compare")?.innerText === "${listed[0]?.fingerprint}"`);
    await page.until(`document.querySelector("dl.facts").innerText.split("${fingerprint}").length === 3`);
    expect(await inspect("enrollment")).toEqual([]);
    await page.press("a");
    await page.until(`document.querySelector("dialog h2")?.innerText === "Approve ${names[0]}?"`);
    await page.until(`${said}.includes("The decision takes effect at once.")`);
    // The first button, which has the focus, cancels.
    await page.until(`document.activeElement?.innerText === "Cancel"`);
    await page.press("Tab");
    await page.until(`document.activeElement?.innerText === "Approve"`);
    await page.press("Enter");
    await page.until(`document.querySelector("h1").innerText === "Enrollments"`);
    await page.until(`${peelsShown}.length === 2`);
    await until(async () =>
      ((await rest("GET", "enrollments?state=active")).json as Listed[]).some(
        ({ peel }) => peel === names[0],
      ),
    );

    await page.click(".tools button");
    await page.press("r");
    await page.until(`document.querySelector("dialog h2")?.innerText === "Reject 2 hosts?"`);
    expect(await page.evaluate<string>(said)).toContain("are refused");
    await page.until(`${said}.includes("Each decision takes effect at once.")`);
    await page.type("#decide-reason", "<b>not ours</b>");
    await page.press("Enter");
    await page.until(`document.querySelector(".says").innerText === "2 rejected"`);
    await page.until(`document.querySelector(".empty h2")?.innerText === "No host waits"`);
    const { json: rejected } = await rest("GET", "enrollments?state=rejected");
    expect((rejected as Listed[]).map(({ peel }) => peel).toSorted()).toEqual([names[1], names[2]]);
    const gone = ((await rest("GET", "enrollments?state=active")).json as Listed[]).find(
      ({ peel }) => peel === names[0],
    );
    await rest("POST", `enrollments/${gone?.id}/revoke`, {});
  });

  test("enrollments, jobs, rollouts: a viewer is offered nothing, and gets 403", async () => {
    const { page, open, rest, signIn, signOut, master } = at();
    const { token } = (await rest("POST", "tokens", { name: "looker", roles: ["viewer"], expires: "1h" }))
      .json as {
      token: string;
    };
    await open("/enrollments?state=active", "Enrollments");
    await page.until(`document.querySelectorAll("tbody input[type=checkbox]").length > 0`);
    await signOut();
    await signIn(token);
    await open("/enrollments?state=active", "Enrollments");
    await page.until(`${peelsShown}.length > 0`);
    expect(await page.evaluate<number>(`document.querySelectorAll("main button:not(.sorter)").length`)).toBe(
      0,
    );
    expect(await page.evaluate<number>(`document.querySelectorAll("main input").length`)).toBe(0);
    await open("/jobs", "Jobs");
    expect(await page.evaluate<boolean>(`document.querySelector('a[href$="/jobs/new"]') === null`)).toBe(
      true,
    );
    await open("/jobs/new", "New job");
    await page.until(
      `document.querySelector(".empty h2")?.innerText === "Your roles do not include running jobs"`,
    );
    expect(await page.evaluate<boolean>(`document.querySelector('nav a[href$="/rollouts"]') === null`)).toBe(
      true,
    );
    const tries = ["enrollments/enr-1/approve", "jobs", "rollouts/rol-1/abort"].map((path) => {
      const body = path === "jobs" ? '{"target":"*","function":"test.ping"}' : "{}";
      return page.evaluate<number>(`fetch("/api/v1/sessions/current").then((answer) => answer.json()).then(({ csrf }) =>
        fetch("/api/v1/${path}", {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
          body: ${JSON.stringify(body)},
        })).then(({ status }) => status)`);
    });
    expect(await Promise.all(tries)).toEqual([403, 403, 403]);
    await signOut();
    await signIn(master.token);
  });
}
