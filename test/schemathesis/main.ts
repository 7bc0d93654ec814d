import { join } from "node:path";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { readFlags } from "../bench/flags.ts";
import { type ApiText, operationsOf } from "../harness/api-text.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { ConsoleClient } from "../harness/console-client.ts";
import { type MasterDaemon, startMasterBinary } from "../harness/fleet.ts";
import { settingsFlags } from "../harness/peel-requests.ts";
import { builtInRoles } from "../harness/role-table.ts";
import { storePeels } from "../harness/stored-peels.ts";

// Sends what schemathesis makes of the description to every operation of a compiled master, in each role, without a
// token, and with a session of the console. No answer may be 5xx, and each must be as described.

const flags = readFlags({
  roles: [...builtInRoles, "none", "session"].join(","),
  examples: "10",
  seed: "1",
});
const schemathesis = join(import.meta.dir, "../../.tools/bin/schemathesis");
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

let areAsDescribed = true;
for (const role of flags.text("roles").split(",")) {
  process.stdout.write(`\n${role}\n`);
  areAsDescribed = (await isAsDescribed(role)) && areAsDescribed;
}
process.exitCode = areAsDescribed ? 0 : 1;

/** Whether every answer to a role is; schemathesis prints those that are not. */
async function isAsDescribed(role: string): Promise<boolean> {
  await using bus = await startBus();
  const tokens = builtInRoles.map((name) => {
    const file = join(bus.dir, `token-${name}`);
    writeFileAtomic(file, `token-of-${name}\n`, secretMode);
    return { username: `the-${name}`, token_file: file, roles: [name] };
  });
  const own = ["--api-docs", ...settingsFlags(bus.dir)];
  await using master = await startMasterBinary(bus, own, {}, [], { tokens });
  await storePeels(bus, { "web-1": { facts: { os: "Debian" } }, "db-1": { labels: { team: "db" } } });
  const left = await leftOut(bus, master, role);
  const headers = await headersOf(bus, master, role);
  const options = {
    "tls-verify": bus.caFile,
    checks: checks.join(","),
    seed: flags.text("seed"),
    "max-examples": flags.text("examples"),
    // More are refused, which says nothing of the operations.
    "rate-limit": "45/s",
    "generation-database": "none",
    "suppress-health-check": "all",
    warnings: "off",
  };
  const command = [
    ...[schemathesis, "run", `${master.url}/api/v1/openapi.json`, "--continue-on-failure", "--no-color"],
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    ...left.flatMap((id) => ["--exclude-operation-id", id]),
    ...headers.flatMap((line) => ["--header", line]),
  ];
  // It keeps files in its working directory.
  const child = Bun.spawn(command, { cwd: bus.dir, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  return (await child.exited) === 0;
}

/**
 * Operations without which the others can be tried: an event stream has no end, a session would be over, and who has no
 * token is refused by all that need one.
 */
async function leftOut(bus: TestBus, master: MasterDaemon, role: string): Promise<string[]> {
  const { json } = await send(master.url, bus.caPem, { path: "/api/v1/openapi.json" });
  return operationsOf(json as ApiText)
    .map(({ operation }) => operation)
    .filter(({ operationId, responses, security }) => {
      const isStream = responses[200]?.content?.["text/event-stream"] !== undefined;
      const needsToken = security.some((one) => "bearer" in one);
      return (
        isStream || (role === "session" && operationId === "endSession") || (role === "none" && needsToken)
      );
    })
    .map(({ operationId }) => operationId);
}

/** What shows who sends a request. */
async function headersOf(bus: TestBus, { url }: MasterDaemon, role: string): Promise<string[]> {
  if (role === "none") return [];
  if (role !== "session") return [`Authorization: Bearer token-of-${role}`];
  const client = new ConsoleClient("127.0.0.1");
  await client.signIn({ url, ca: bus.caPem }, { token: "token-of-admin" });
  const lines = { Cookie: client.cookie, "X-CSRF-Token": client.csrf, Origin: url };
  const entries = Object.entries({ ...lines, "Sec-Fetch-Site": "same-origin" });
  return entries.map(([name, value]) => `${name}: ${value}`);
}
