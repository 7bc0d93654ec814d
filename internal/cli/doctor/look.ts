import { lackingGrants } from "../../bus/accounts/users.ts";
import type { Bus } from "../../bus/connect.ts";
import { connectBus } from "../../bus/connect.ts";
import { newerCredentials } from "../../bus/request.ts";
import { parseCredentials } from "../../identity/credentials.ts";
import { readClaims } from "../../identity/jwt.ts";
import { quietLog, showSteps } from "../../program/command-line/check.ts";
import type { Cli } from "../../program/command-line/command.ts";
import { busSteps, storageSteps } from "../../program/diagnosis/bus.ts";
import { judgeCredentials } from "../../program/diagnosis/findings.ts";
import { once, type Step, takeSteps } from "../../program/diagnosis/step.ts";
import { operatorBus } from "../operator.ts";
import type { DoctorContext } from "./context.ts";
import { leaseStep, masterStep } from "./masters.ts";
import { peelSteps } from "./peel.ts";

/** The way from this machine to the masters, in the order in which it would break. */
const steps: readonly Step<DoctorContext>[] = [
  {
    name: "configuration",
    next: "write ~/.svc/config.yaml, or name the file svc init wrote with --config",
    look: ({ urls }) => ({ level: "ok", message: `the bus is ${urls().join(", ")}` }),
  },
  {
    name: "credentials",
    needs: ["configuration"],
    next: "name the admin.creds that svc nats-auth init wrote in master.creds_file",
    look({ identity, clock }) {
      const found = identity();
      if ("seed" in found) return { level: "ok", message: "a bare seed, which does not expire" };
      const judged = judgeCredentials("master.creds_file", found.credentials, clock.now(), newerCredentials);
      const lacking = lackingGrants(readClaims(parseCredentials(found.credentials).jwt));
      if (judged.level === "fail" || lacking.length === 0) return judged;
      const [first = "", ...others] = lacking;
      const more = others.length === 0 ? "" : ` and ${others.length} more`;
      return {
        level: "warn",
        message: `older than this svc: they may not publish on ${first}${more}`,
        next: newerCredentials,
      };
    },
  },
  ...busSteps(["configuration"], ["credentials"]),
  ...storageSteps([
    "master-heartbeat",
    "enrollments",
    "jobs",
    "facts",
    "peel-heartbeat",
    "revocations",
    "leases",
  ]),
  masterStep,
  leaseStep,
];

/**
 * Looks at every step, and prints what it found; the bus may be dead.
 *
 * @param peel encoded id of a peel that is looked at as well
 * @throws Exit 1 when something is wrong
 */
export async function lookForTrouble(cli: Cli, peel: string | undefined): Promise<void> {
  const options = once(() => operatorBus(cli));
  const open: Bus[] = [];
  const context: DoctorContext = {
    clock: cli.clock,
    urls: () => options().urls,
    ca: () => options().ca,
    client: () => options().clientCertificate,
    identity: () => options().identity,
    connect: once(async () => {
      const bus = await connectBus({ ...options(), log: quietLog(cli) });
      open.push(bus);
      return bus;
    }),
  };
  try {
    const all = peel === undefined ? steps : [...steps, ...peelSteps(peel)];
    await showSteps(await takeSteps(all, context), cli);
  } finally {
    await Promise.all(open.map((bus) => bus.drain()));
  }
}
