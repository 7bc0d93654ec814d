import { expect, test } from "bun:test";
import type { Company } from "./company.ts";

const signedInAs = `document.querySelector("nav .foot strong")?.innerText`;

/** Who signs in at a provider of identities, in the browser. */
export function singleSignOnCases(at: () => Company): void {
  test("single sign-on: the provider leads back, with the name and the roles of its claims", async () => {
    const { fleet, provider } = at();
    const place = provider.issuer.replace("https://", "");
    provider.person = "ann";
    const ann = await fleet.another();
    await ann.open("/peels?show=alive", "Sign in to svc");
    await ann.choose(`Continue with ${place}`);
    expect(await ann.page.until<string>(signedInAs)).toBe(`ann@example.com@${place}`);
    // What the provider gave is a secret: neither the address nor the storage of the tab keeps it.
    await ann.page.until(`document.querySelector("h1")?.innerText === "Peels"`);
    expect(await ann.page.evaluate<string>("location.pathname + location.search")).toBe(
      "/console/peels?show=alive",
    );
    expect(
      await ann.page.evaluate<string[]>("[...Object.keys(sessionStorage), ...Object.keys(localStorage)]"),
    ).toEqual(["svc-theme"]);
    expect((await ann.request("GET", "sessions/current")).text).toContain('"roles":["operator"]');
    expect((await ann.request("GET", "tokens")).status).toBe(403);
    await ann.page[Symbol.asyncDispose]();
  });

  test("single sign-on: without a group that has a role there is no session, and the page says who can give one", async () => {
    const { fleet, provider } = at();
    provider.person = "bob";
    const bob = await fleet.another();
    await bob.open("/overview", "Sign in to svc");
    await bob.choose(`Continue with ${provider.issuer.replace("https://", "")}`);
    const reported = await bob.page.until<string>(`document.querySelector("[role=alert].notice")?.innerText`);
    expect(reported).toMatch(/^bob@example\.com@localhost:\d+ has no role here: .*role_claims/);
    expect((await bob.request("GET", "peels")).status).toBe(401);
    await bob.page[Symbol.asyncDispose]();
  });

  test("single sign-on: an answer that this browser did not ask for signs nobody in", async () => {
    const { fleet } = at();
    const eve = await fleet.another();
    await eve.page.open(`${fleet.master.url}/console/oidc?code=stolen&state=guessed`);
    const reported = await eve.page.until<string>(`document.querySelector("[role=alert].notice")?.innerText`);
    expect(reported).toBe("this browser did not begin that sign-on; sign in again");
    await eve.page.open(
      `${fleet.master.url}/console/oidc?error=access_denied&error_description=${encodeURIComponent("<b>no</b>")}`,
    );
    await eve.page.until(`document.querySelector("[role=alert].notice")?.innerText === "<b>no</b>"`);
    expect((await eve.request("GET", "peels")).status).toBe(401);
    await eve.page[Symbol.asyncDispose]();
  });
}
