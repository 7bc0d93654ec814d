import { expect, test } from "bun:test";
import { runRecord } from "../../harness/run-record.ts";
import type { Company } from "./company.ts";

const main = `document.querySelector("main").innerText`;

/** The page Operators, where there are operators with keys of their own. */
export function personsCases(at: () => Company): void {
  test("operators: each person has a page, and a token that one of them made ends with its sessions", async () => {
    const { fleet, hire, comeIn } = at();
    const hugo = await comeIn(await hire("hugo", "admin"));
    await hire("ida", "viewer");
    await hugo.open("/operators", "Operators");
    await hugo.page.until(`${main}.includes("ida") && ${main}.includes("root")`);
    await hugo.open("/operators/ida", "ida");
    await hugo.page.until(`${main}.includes("svc operator roles ida ROLE")`);
    expect(await hugo.page.evaluate<string>(`document.querySelector("dl.facts").innerText`)).toMatch(
      /Roles\s+viewer[\s\S]*Created\s+.* by root/,
    );
    await hugo.open("/operators/hugo", "hugo");
    await hugo.page.until(`${main}.includes("svc operator disable hugo")`);

    await hugo.open("/operators?view=tokens", "Operators");
    await hugo.choose("Create a token");
    await hugo.page.type("#token-name", "of-hugo");
    await hugo.page.click("[name=token-role][value=viewer]");
    await hugo.choose("Create", "dialog");
    const token = await hugo.page.until<string>(`document.querySelector("#token-text")?.innerText`);
    runRecord.register("token", token);
    await hugo.choose("I have it", "dialog");
    await hugo.page.until(`document.querySelector("[aria-label='Revoke of-hugo']") !== null`);
    expect(await hugo.page.evaluate<string>("document.documentElement.outerHTML")).not.toContain(token);
    const { tokens } = (await fleet.rest("GET", "tokens")).json as { tokens: { name: string }[] };
    expect(tokens.find(({ name }) => name === "of-hugo")).toMatchObject({ created_by: "hugo" });
    const program = await fleet.another();
    await program.signIn(token);
    await hugo.page.click("[aria-label='Revoke of-hugo']");
    await hugo.choose("Revoke", "dialog");
    await hugo.page.until(`document.querySelector("[aria-label='Revoke of-hugo']") === null`);
    expect((await program.request("GET", "peels")).status).toBe(401);
    await program.page.evaluate(`document.querySelector('nav a[href$="/jobs"]').click()`);
    await program.page.until(
      `document.querySelector("dialog[aria-label='Your session has ended']") !== null`,
    );
    await program.page.type("dialog #token", token);
    await program.page.press("Enter");
    await program.page.until(`document.querySelector("#token-problem").innerText !== ""`);
    for (const { page } of [hugo, program]) await page[Symbol.asyncDispose]();
  });
}
