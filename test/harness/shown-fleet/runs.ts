import { encode } from "../../../internal/base/msgpack.ts";
import type { EndedState } from "../../../internal/host/modules/mod.ts";
import { encodeDiffs } from "../../../internal/wire/state-diffs.ts";
import { encodeReport, type Report } from "../../../internal/wire/state-report.ts";
import type { ManualPeel } from "../manual-peel.ts";
import type { ShownHost } from "./hosts.ts";

const commits = ["4f2a9c1e7b6d", "9d01c3fe52aa"] as const;
const state = (more: Partial<EndedState>): EndedState =>
  ({
    ...{ id: "", function: "", name: "", file: "web/init.sls", line: 1, result: true },
    ...{ changes: {}, comment: "", duration_ms: 12 },
    ...more,
  }) as EndedState;

const nginx = state({
  ...{ id: "/etc/nginx/nginx.conf", name: "/etc/nginx/nginx.conf", function: "file.managed", line: 14 },
  comment: "File /etc/nginx/nginx.conf updated",
  changes: {
    diff: [
      "--- /etc/nginx/nginx.conf",
      "+++ /etc/nginx/nginx.conf",
      "@@ -8,7 +8,8 @@",
      " http {",
      "     sendfile on;",
      "-    worker_connections 512;",
      "-    keepalive_timeout 65;",
      "+    worker_connections 2048;",
      "+    keepalive_timeout 30;",
      "+    server_tokens off;",
      "     include /etc/nginx/conf.d/*.conf;",
      " }",
    ].join("\n"),
  },
});
const service = state({
  ...{ id: "nginx", name: "nginx", function: "service.running", line: 22, result: false },
  comment:
    'nginx does not start: exit code 1, unknown directive "servr_tokens" in /etc/nginx/conf.d/app.conf:3',
});
const motd = state({
  ...{ id: "/etc/motd", name: "/etc/motd", function: "file.managed", file: "base/motd.sls", line: 3 },
  comment: "File /etc/motd updated",
  changes: {
    diff: "--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-Welcome\n+Managed by svc: changes are reverted",
  },
});
const openssl = state({
  ...{ id: "openssl", name: "openssl", function: "pkg.latest", file: "base/packages.sls", line: 9 },
  comment: "openssl is upgraded",
  changes: { openssl: { old: "3.0.14-1~deb12u2", new: "3.0.15-1~deb12u1" } },
});

/** What the last run of a host did; none for a host that never ran states. */
function statesOf({ id }: ShownHost): readonly EndedState[] | undefined {
  const [name = ""] = id.split(".");
  if (name === "build-1" || name === "cache-2") return undefined;
  if (name === "web-3") return [nginx, service, motd];
  if (name === "web-5") return [service];
  if (name === "api-2" || name === "db-3") return [openssl];
  if (name === "web-2") return [nginx, motd];
  return [];
}

/** Reports the last state run of a host as its program does. @param now milliseconds since the Unix epoch */
export async function reportRun(
  peel: ManualPeel,
  host: ShownHost,
  index: number,
  now: number,
): Promise<void> {
  const states = statesOf(host);
  if (states === undefined) return;
  const bad = states.filter(({ result }) => result === false);
  const changed = states.filter(({ result }) => result !== false);
  const run_at = new Date(now - (index + 1) * 97_000).toISOString();
  const report: Report = {
    ...{
      run_at,
      trigger: "schedule",
      environment: "base",
      commit: commits[host.id.startsWith("edge") ? 1 : 0],
    },
    ...{ test: false, ok: 24 - states.length, changed: changed.length, failed: bad.length },
    ...{ skipped: bad.length, would_change: 0, duration_ms: 3_900 + index * 210 },
    failures: bad.map(({ id, function: called, file, line, comment }) => ({
      id,
      function: called,
      file,
      line,
      comment,
    })),
    drift: changed.map(({ id, function: called }) => ({ id, function: called })),
  };
  const { nats } = peel.connection;
  const diffs = encodeDiffs(report, states);
  if (diffs !== undefined)
    await nats.request(`$KV.compliance-diffs.${peel.peelId}`, diffs, { timeout: 30_000 });
  await nats.request(`$KV.compliance.${peel.peelId}`, encodeReport(report), { timeout: 30_000 });
}

/** Stores the facts of a host. */
export async function reportFacts(peel: ManualPeel, { facts }: ShownHost): Promise<void> {
  await peel.connection.nats.request(`$KV.facts.${peel.peelId}`, encode(facts), { timeout: 30_000 });
}
