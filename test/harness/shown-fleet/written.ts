import { newId, systemRandom } from "../../../internal/base/id.ts";
import { encodePeelId } from "../../../internal/base/names/peel-id.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { encodeApproval } from "../../../internal/fleet/approvals/record.ts";
import { encodeOperator, signOperator } from "../../../internal/wire/operator-record.ts";
import { connectTo, type TestBus } from "../bus.ts";
import { newOperator, type TestOperator } from "../operators.ts";
import { recordOf } from "../registered.ts";
import { macOf } from "../vouchers.ts";
import { shownHosts } from "./hosts.ts";

/** The files of the master of the shown fleet. */
export const states = {
  "top.sls": "base:\n  '*': [base]\n",
  "base.sls": "/etc/motd:\n  file.managed:\n    - contents: Managed by svc\n",
};
export const settingsTop = "base:\n  '*': [all]\n";
export const settings = `motd: Managed by svc
nginx:
  worker_connections: 2048
  keepalive_timeout: 30
  server_names: [www.example.com, shop.example.com]
postgres:
  host: db-1.example.com
  password: correct-horse
ntp:
  servers: [time-1.example.com, time-2.example.com]
`;
export const rules = `rules:
  - name: clean-full-disks
    match: disk/full
    when:
      data.percent: { gte: 90 }
    do:
      - emit: { tag: cleanup/wanted }
  - name: page-on-replication-lag
    match: postgres/replication/lag
    when:
      data.seconds: { gt: 30 }
    do:
      - emit: { tag: page/database }
  - name: note-new-hosts
    match: svc/enrollment/active
    do:
      - emit: { tag: inventory/changed }
`;

/** Requests that wait for other operators. @returns the id of one of them */
export async function storeApprovals(bus: TestBus, now: number, revoked: string): Promise<string> {
  const stored = await connectTo(bus, "master");
  const bucket = await openBucket(stored, "approvals");
  const targets = shownHosts.filter(({ labels }) => labels.tier === "data").map(({ id }) => encodePeelId(id));
  const requests = [
    {
      ...{ operation: "jobs.create", needs: 2, rule: "role dba: jobs of pkg.upgrade", asker: "dora" },
      ...{ input: { function: "pkg.upgrade", target: "T@tier:data", args: { refresh: true } }, targets },
    },
    {
      ...{ operation: "enrollments.revoke", needs: 1, rule: "role careful: revoke", asker: "ben" },
      ...{ input: { id: revoked, reason: "replaced by mail-2" } },
    },
  ];
  let id = "";
  for (const { asker, ...request } of requests.toReversed()) {
    id = newId("apr", now, systemRandom);
    const record = {
      ...{ id, agreed: [], state: "waiting" as const, expiresAt: now + 20 * 3_600_000 },
      ...request,
      asker: { name: asker, person: asker, door: "bus" as const, roles: ["operator"], at: now - 4 * 60_000 },
    };
    await bucket.create(id, encodeApproval(macOf(bus), record));
  }
  await stored.drain();
  return id;
}

/** Records of operators, as an administrator signs them. */
export async function storeOperators(bus: TestBus, root: TestOperator): Promise<void> {
  const stored = await connectTo(bus, "master");
  const bucket = await openBucket(stored, "operators");
  const known = [
    ["ann", ["admin"]],
    ["ben", ["operator"]],
    ["cleo", ["viewer"]],
    ["dora", ["operator"]],
  ] as const;
  for (const [name, roles] of known) {
    const record = recordOf(newOperator(name, roles), name === "cleo" ? { disabled: true } : {});
    await bucket.put(name, encodeOperator(signOperator(record, root.key)));
  }
  await stored.drain();
}
