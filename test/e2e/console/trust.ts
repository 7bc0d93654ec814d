import { expect, test } from "bun:test";
import { attestation, newEnrollee, submission, submit, takeNonce } from "../../harness/enrollee.ts";
import { startPeelBinary } from "../../harness/fleet.ts";
import { until } from "../../harness/until.ts";
import { type Company, markup } from "./company.ts";

const other = `sha256:${"ab".repeat(32)}`;
const rowOf = (peel: string) =>
  `[...document.querySelectorAll("tbody tr")].find((one) => one.innerText.includes("${peel}"))`;
const title = `document.querySelector("dialog h2")?.innerText`;
const submitButton = `document.querySelector("dialog button[type=submit]")`;

/** Whom to admit, and who is sent away while they are connected. */
export function trustCases(at: () => Company): void {
  test("trust: a host that trusted another root is seen side by side, and left out until one insists", async () => {
    const { fleet, visit } = at();
    const door = { url: fleet.master.url, ca: fleet.bus.caPem };
    const { fingerprint } = (await fleet.rest("GET", "enroll/ca")).json as { fingerprint: string };
    const send = async (peelId: string, pin: string): Promise<string> => {
      const peel = newEnrollee(peelId);
      const nonce = await takeNonce(door, peel);
      const reply = await submit(
        door,
        submission(peel, nonce, { hostname: markup, ...attestation(peel, nonce, pin) }),
      );
      expect(reply.status).toBe(201);
      return (reply.json as { id: string }).id;
    };
    const [own, strange] = [await send("own-1", fingerprint), await send("strange-1", other)];
    const { page, open, choose, buttons, request } = await visit("porter", "approver");
    await open("/enrollments", "Enrollments");
    await page.until(`${rowOf("strange-1")} !== undefined && ${rowOf("own-1")} !== undefined`);
    const shown = [rowOf("own-1"), rowOf("strange-1")].map((row) =>
      page.evaluate<string>(`${row}.innerText`),
    );
    const [fine, wrong] = await Promise.all(shown);
    expect(fine).toContain("this fleet");
    expect(wrong).toContain("another root");
    expect(wrong).toContain("abababababab");

    // Alone: nothing is approved before it is meant.
    await open(`/enrollments/${strange}`, "strange-1");
    await page.until(
      `document.querySelector("dl.facts")?.innerText.includes(${JSON.stringify(fingerprint)})`,
    );
    const facts = await page.evaluate<string>(`document.querySelector("dl.facts").innerText`);
    expect(facts).toContain(other);
    expect(facts).toContain("another root");
    const refused = await request("POST", `enrollments/${strange}/approve`, {});
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("force")]);
    await choose("Approve", ".page-head");
    await page.until(`${title} === "Approve strange-1?"`);
    expect(await page.evaluate<boolean>(`${submitButton}.disabled`)).toBe(true);
    expect(await page.evaluate<string>(`document.querySelector("dialog label.notice").innerText`)).toContain(
      "trusted another CA root. Someone may stand between them and this fleet.",
    );
    await page.press("Escape");
    await page.until(`document.querySelector("dialog") === null`);

    // Together with another one: only that one.
    await open("/enrollments", "Enrollments");
    await page.until(`${rowOf("strange-1")} !== undefined`);
    for (const peel of ["own-1", "strange-1"])
      await page.evaluate(`${rowOf(peel)}.querySelector("input").click()`);
    await choose("Approve 2", ".page-head");
    await page.until(`${title} === "Approve own-1?"`);
    await choose("Approve", "dialog");
    await page.until(`document.querySelector("dialog") === null`);
    const stateOf = async (id: string) => {
      const { json } = await fleet.rest("GET", "enrollments?state=all&limit=1000");
      return (json as { id: string; state: string }[]).find((one) => one.id === id)?.state;
    };
    expect([await stateOf(own), await stateOf(strange)]).toEqual(["approved", "pending"]);

    await open(`/enrollments/${strange}`, "strange-1");
    await choose("Approve", ".page-head");
    await page.click("dialog input[type=checkbox]");
    await choose("Approve", "dialog");
    await page.until(`document.querySelector("h1").innerText === "Enrollments"`);
    expect(await stateOf(strange)).toBe("approved");
    expect(await buttons(".page-head")).not.toContain("Approve");
    for (const id of [own, strange]) await fleet.rest("POST", `enrollments/${id}/revoke`, {});
    await page[Symbol.asyncDispose]();
  });

  test("trust: a peel that is revoked on either page is cut off, and the pages say that it is gone", async () => {
    const { fleet, visit } = at();
    const { bus, master, rest } = fleet;
    const names = ["gone-1.example.com", "gone-2.example.com"] as const;
    await using stack = new AsyncDisposableStack();
    const [one, two] = names.map((name) => stack.use(startPeelBinary(bus, master.url, name)));
    const listed = async (query: string) =>
      ((await rest("GET", query)).json as { id: string; peel: string; alive?: boolean }[]).filter(
        ({ peel, id }) => names.some((name) => name === (peel ?? id)),
      );
    for (const { id } of await until(
      () => listed("enrollments"),
      (found) => found.length === 2,
    ))
      await rest("POST", `enrollments/${id}/approve`);
    await until(
      () => listed("peels?target=gone-*"),
      (found) => found.filter(({ alive }) => alive).length === 2,
    );

    const { page, open, choose } = await visit("ranger", "approver");
    await open("/enrollments?state=active", "Enrollments");
    await page.until(`${rowOf(names[0])} !== undefined`);
    await page.evaluate(`${rowOf(names[0])}.querySelector("input").click()`);
    await choose("Revoke", ".page-head");
    await page.until(`${title} === "Revoke ${names[0]}?"`);
    await page.type("#decide-reason", `stolen ${markup}`);
    await choose("Revoke", "dialog");
    await one?.program.waitFor("this peel is revoked or suspended");
    await page.until(`${rowOf(names[0])} === undefined`);

    await open(`/peels/${names[1]}`, names[1]);
    await page.until(`document.querySelector(".page-head .status")?.innerText === "alive"`);
    await choose("Revoke", ".page-head");
    await page.type("#revoke-reason", "sold");
    await choose("Revoke", "dialog");
    await two?.program.waitFor("this peel is revoked or suspended");
    await page.until(
      `document.querySelector(".empty h1")?.innerText === "The peel ${names[1]} does not exist"`,
    );
    await open("/enrollments?state=revoked", "Enrollments");
    await page.until(`${rowOf(names[0])} !== undefined && ${rowOf(names[1])} !== undefined`);
    await page[Symbol.asyncDispose]();
  });
}
