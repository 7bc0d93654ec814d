import { join } from "node:path";
import { writeFileAtomic } from "../../../internal/base/files/file.ts";
import { type ConsoleFleet, startConsoleFleet } from "../../harness/console.ts";
import { type IdentityProvider, startIdentityProvider } from "../../harness/identity-provider.ts";
import { newOperator, writeOperatorFile } from "../../harness/operators.ts";
import { newPerson, type Person } from "../../harness/person.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { runRecord } from "../../harness/run-record.ts";
import { storePeels } from "../../harness/stored-peels.ts";
import { until } from "../../harness/until.ts";
import type { Visitor } from "../../harness/visitor.ts";

/** A fleet with an identity provider and many people, each with a browser of their own. */
export interface Company extends AsyncDisposable {
  readonly fleet: ConsoleFleet;
  readonly provider: IdentityProvider;
  /** Addresses of all its masters. */
  readonly masters: string[];
  /** Adds an operator with the compiled `svc`. */
  hire(name: string, ...roles: string[]): Promise<Person>;
  /** Someone who came in with a link of `svc console`. */
  comeIn(person: Person): Promise<Visitor>;
  /** Someone who came in with a token that has these roles. */
  visit(name: string, ...roles: string[]): Promise<Visitor & { token: string }>;
}

/** Members for which no program runs: enough of them that their number must be typed. */
export const silent = Array.from({ length: 12 }, (_, at) => `silent-${String(at + 1).padStart(2, "0")}`);

/** What a host would like to be on a page. */
export const markup = '<img src=x onerror="document.title=1"><b>bold</b>';

/** `careful` may do what needs a second person; `no-console` may not sign in. */
const roles = `roles:
  careful:
    jobs: [{functions: [test.*], targets: "*", approvals: 1}, list, show]
    rollouts: [list, show, {do: abort, approvals: 1}]
    enrollments: [list, {do: revoke, approvals: 1}]
    facts: [read, resolve]
    approvals: [list, show, approve, deny]
    console: [use]
  no-console: {jobs: [list]}
`;

export async function startCompany(): Promise<Company> {
  const root = newOperator("root");
  let provider: IdentityProvider | undefined;
  let administrator = "";
  const fleet = await startConsoleFleet(["--reactor-storm-rate", "1"], async (bus) => {
    listAdministrators(bus.authDir, root);
    administrator = writeOperatorFile(bus, root);
    const ann = { email: "ann@example.com", groups: ["dev", "ops"] };
    const bob = { email: "bob@example.com", groups: ["dev"] };
    provider = await startIdentityProvider(bus, { accounts: { ann, bob } });
    const role_claims = [{ claim: "groups", value: "ops", role: "operator" }];
    const entry = { issuer: provider.issuer, audience: provider.clientId, ca_file: bus.caFile };
    return { oidc: [{ ...entry, scope: "openid email groups", role_claims }] };
  });
  if (provider === undefined) throw new Error("no provider was started");
  const { bus, rest } = fleet;
  writeFileAtomic(join(fleet.master.dir, "roles.yaml"), roles, 0o600);
  await storePeels(
    bus,
    Object.fromEntries(silent.map((id) => [id, { facts: { os: markup, owner: markup } }])),
  );
  await until(
    async () => ((await rest("GET", "peels?limit=100")).json as object[]).length === silent.length + 2,
  );
  const started = provider;
  return {
    fleet,
    provider: started,
    masters: [fleet.master.url],
    hire: (name, ...given) => newPerson(bus, administrator, name, given),
    async comeIn({ link }) {
      const visitor = await fleet.another();
      await visitor.page.open((await link()).link);
      await visitor.page.until('document.querySelector(".shell") !== null');
      return visitor;
    },
    async visit(name, ...given) {
      const { token } = (await rest("POST", "tokens", { name, roles: given, expires: "1h" })).json as {
        token: string;
      };
      runRecord.register("token", token);
      const visitor = await fleet.another();
      await visitor.signIn(token);
      return { ...visitor, token };
    },
    async [Symbol.asyncDispose]() {
      await fleet[Symbol.asyncDispose]();
      await started[Symbol.asyncDispose]();
    },
  };
}
