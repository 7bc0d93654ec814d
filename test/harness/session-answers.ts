import type { ExpectDescribed } from "./api-text.ts";
import { ConsoleClient } from "./console-client.ts";
import { bearer, call, postJson } from "./enrollee.ts";
import { type TestMaster, testToken } from "./master.ts";
import { runRecord } from "./run-record.ts";

/** Asks a master about sessions of the console. @param expectDescribed holds an answer against the description */
export async function checkSessionAnswers(
  master: TestMaster,
  expectDescribed: ExpectDescribed,
): Promise<void> {
  const browser = new ConsoleClient();
  const at = "/api/v1/sessions";
  await expectDescribed("openSession", browser.signIn(master, { token: "wrong" }), 401);
  await expectDescribed("openSession", browser.signIn(master, { token: testToken }), 201);
  await expectDescribed("showSession", browser.request(master, "GET", `${at}/current`), 200);
  await expectDescribed("showSession", call(master, { path: `${at}/current`, headers: bearer }), 404);
  await expectDescribed("listSignInProviders", browser.request(master, "GET", `${at}/providers`), 200);
  const wanted = { name: "linker", roles: ["viewer"] };
  const made = await browser.request(master, "POST", "/api/v1/tokens", { body: wanted });
  const { token } = made.json as { token: string };
  runRecord.register("token", token);
  const link = postJson(master, `${at}/links`, {}, { headers: { authorization: `Bearer ${token}` } });
  await expectDescribed("createSessionLink", link, 201);
  await expectDescribed("endSession", browser.request(master, "DELETE", `${at}/current`), 200);
  const unknown = { issuer: "https://idp.example.com", redirect_uri: `${master.url}/console/oidc` };
  const begin = browser.request(master, "POST", `${at}/oidc`, { body: unknown });
  await expectDescribed("beginSignInAtProvider", begin, 404);
}
