import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type Company, startCompany } from "./console/company.ts";
import { countCases } from "./console/counts.ts";
import { expiredCases } from "./console/expired.ts";
import { linkCases } from "./console/links.ts";
import { markupCases } from "./console/markup.ts";
import { personsCases } from "./console/persons.ts";
import { restartCases } from "./console/restarts.ts";
import { roleCases } from "./console/roles.ts";
import { singleSignOnCases } from "./console/single-sign-on.ts";
import { trustCases } from "./console/trust.ts";
import { twoMastersCases } from "./console/two-masters.ts";
import { twoPersonsCases } from "./console/two-persons.ts";

// The console in a real Chromium, for many people with different roles. All tests share one company; its people have
// nothing in common but the fleet.

setDefaultTimeout(60_000);

let company: Company;
const at = () => company;

beforeAll(async () => {
  company = await startCompany();
});
afterAll(async () => {
  await company?.[Symbol.asyncDispose]();
});

singleSignOnCases(at);
linkCases(at);
twoPersonsCases(at);
personsCases(at);
roleCases(at);
countCases(at);
trustCases(at);
markupCases(at);
expiredCases(at);
twoMastersCases(at);
// The master ends meanwhile.
restartCases(at);

test("nothing left the masters but for the provider of identities", () => {
  const { fleet, provider, masters } = company;
  const known = [...masters, provider.issuer].map((url) => `${url}/`);
  const strangers = fleet.page.requests.filter(
    (url) => !known.some((start) => url.startsWith(start)) && !url.startsWith("data:"),
  );
  expect(strangers).toEqual([]);
});
