import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../../internal/base/files/file.ts";
import { readOperatorsKey } from "../../../internal/bus/accounts/mod.ts";
import { encodeJwt } from "../../../internal/identity/jwt.ts";
import { formatOperatorFile, readClaims, readOperatorFile } from "../../../internal/identity/mod.ts";
import { manualClock } from "../../harness/clock.ts";
import { postJson } from "../../harness/enrollee.ts";
import { startMaster } from "../../harness/master.ts";
import { runRecord } from "../../harness/run-record.ts";
import type { Company } from "./company.ts";

const reported = `document.querySelector("[role=alert].notice")?.innerText`;

/** Who comes with a link of `svc console`. */
export function linkCases(at: () => Company): void {
  test("svc console: a viewer opens the link once, and is told so when it is opened again", async () => {
    const { fleet, hire } = at();
    const vera = await hire("vera", "viewer");
    const { link, said } = await vera.link();
    expect(link).toStartWith(`${fleet.master.url}/console/#link=`);
    expect(said).toContain("It is good once, until a minute from now.");
    const tab = await fleet.another();
    await tab.page.open(link);
    expect(await tab.page.until<string>(`document.querySelector("nav .foot strong")?.innerText`)).toBe(
      "vera",
    );
    expect(await tab.page.evaluate<string>("location.hash")).toBe("");
    expect(await tab.page.evaluate<boolean>(`document.body.innerText.includes("Operators")`)).toBe(false);
    const other = await fleet.another();
    await other.page.open(link);
    expect(await other.page.until<string>(reported)).toBe(
      "the link was used, or is older than 60 s: ask for another one with svc console",
    );
    expect((await other.request("GET", "peels")).status).toBe(401);
    // In the browser of vera, the session that is there stays.
    expect((await tab.request("GET", "peels")).status).toBe(200);
    for (const { page } of [tab, other]) await page[Symbol.asyncDispose]();
  });

  test("svc console: an operator file that lacks a right is renewed, and then it works; one without the role is told so", async () => {
    const { fleet, hire } = at();
    const olga = await hire("olga", "viewer");
    const path = join(olga.home, ".svc", "contexts", "olga.operator");
    const earlier = readOperatorFile(path);
    const { sub: subject, iat: issuedAt, exp: expiresAt = 0, nats } = readClaims(earlier.jwt);
    const tags = (nats.tags as string[]).filter((tag) => tag !== "ask:admin.console.link");
    const signer = readOperatorsKey(fleet.bus.authDir);
    if (signer === undefined) throw new Error("the fleet has no key for operators");
    const jwt = encodeJwt(
      { type: "user", name: "olga", subject, issuedAt, expiresAt, nats: { tags } },
      { ...signer, issuerAccount: String(nats.issuer_account) },
    );
    writeFileAtomic(path, formatOperatorFile({ ...earlier, jwt }), secretMode);
    const [first, second] = [await olga.svc("console", "--no-open"), await olga.link("--no-open")];
    expect([first.code, first.stderr]).toEqual([
      1,
      `svc: ${path} lacked what olga may do now: it is renewed, run the command again\n`,
    ]);
    const tab = await fleet.another();
    await tab.page.open(second.link);
    await tab.page.until(`document.querySelector("nav .foot strong")?.innerText === "olga"`);
    await tab.page[Symbol.asyncDispose]();

    const nora = await hire("nora", "no-console");
    const refused = await nora.svc("console");
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([
      1,
      "",
      expect.stringContaining("no role of nora allows it; an operator with role admin changes them with"),
    ]);
  });

  test("svc console: a link of another person asks before it replaces a session, and one's own does not", async () => {
    const { fleet, hire } = at();
    const [xena, yuri] = [await hire("xena", "viewer"), await hire("yuri", "viewer")];
    const name = `document.querySelector("nav .foot strong")?.innerText`;
    const tab = await fleet.another();
    await tab.page.open((await xena.link()).link);
    await tab.page.until(`${name} === "xena"`);
    const { link } = await yuri.link();
    // The same page with another fragment would not load again.
    await tab.page.open("about:blank");
    await tab.page.open(link);
    expect(await tab.page.until<string>(`document.querySelector("dialog[open]")?.innerText`)).toContain(
      "the link signs in yuri, and xena is signed in here",
    );
    await tab.page.click("dialog[open] .button.plain");
    await tab.page.until(`document.querySelector("dialog[open]") === null`);
    expect(await tab.page.evaluate<string>(name)).toBe("xena");
    // It was not used up.
    await tab.page.open("about:blank");
    await tab.page.open(link);
    await tab.page.until(`document.querySelector("dialog[open]") !== null`);
    await tab.page.click("dialog[open] .button.danger");
    await tab.page.until(`${name} === "yuri"`);
    // Control: a link of the same person is no question.
    await tab.page.open("about:blank");
    await tab.page.open((await yuri.link()).link);
    await tab.page.until(`${name} === "yuri"`);
    expect(await tab.page.evaluate<boolean>(`document.querySelector("dialog[open]") === null`)).toBe(true);
    await tab.page[Symbol.asyncDispose]();
  });

  test("svc console: after 60 s a link is told to be too old", async () => {
    const { fleet } = at();
    const made = await fleet.rest("POST", "tokens", { name: "late", roles: ["viewer"], expires: "1h" });
    const { token } = made.json as { token: string };
    runRecord.register("token", token);
    // It was made 61 s ago, by another master, which knows the token from its beginning.
    await using master = await startMaster(fleet.bus, {
      clock: manualClock(systemClock.now() - 61_000),
      tokens: [{ username: "ci", token_file: join(fleet.master.dir, "token") }],
    });
    const headers = { authorization: `Bearer ${token}` };
    const linked = await postJson(master, "/api/v1/sessions/links", {}, { headers });
    expect([linked.status, linked.text]).toEqual([201, expect.any(String)]);
    const { link } = linked.json as { link: string };
    runRecord.register("token", link);
    const tab = await fleet.another();
    await tab.page.open(`${fleet.master.url}/console/#link=${link}`);
    expect(await tab.page.until<string>(reported)).toContain("is older than 60 s");
    await tab.page[Symbol.asyncDispose]();
  });
}
