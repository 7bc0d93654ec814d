import { rfc3339 } from "../../base/clock.ts";
import { lackingGrants } from "../../bus/accounts/mod.ts";
import { newerCredentials } from "../../bus/connection/mod.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import {
  busSteps,
  type Finding,
  judgeCredentials,
  once,
  quietLog,
  type Step,
  showSteps,
  takeSteps,
  tracesStep,
} from "../../program/diagnosis/mod.ts";
import type { DirectWords } from "../direct-args.ts";
import { directOf } from "../direct-credentials.ts";
import { readDirectly } from "../direct-reads.ts";
import { readFleet } from "../fleet-reads.ts";
import { inTime } from "../in-time.ts";
import { operatorBus, operatorSpan, operatorTracing } from "../operator.ts";
import type { DoctorContext } from "./context.ts";
import { identityStep } from "./identities.ts";
import { filesStep, leaseStep, masterStep } from "./masters.ts";
import { peelSteps } from "./peel.ts";
import { releaseStep } from "./releases.ts";
import { storageSteps } from "./storage.ts";

/** The steps from this machine to the masters. Each depends on those before it. */
const steps: readonly Step<DoctorContext>[] = [
  {
    name: "configuration",
    next: "create ~/.svc/config.yaml, or use --config with the file that svc init wrote",
    check: ({ urls }) => ({ level: "ok", message: `the bus is ${urls().join(", ")}` }),
  },
  {
    name: "credentials",
    needs: ["configuration"],
    next: "set master.creds_file to the admin.creds that svc nats-auth init wrote",
    check({ identity, clock }) {
      const found = identity();
      if ("seed" in found) return { level: "ok", message: "a bare seed, which does not expire" };
      const ofOperator = judgeOperatorFile(found.credentials, clock.now());
      if (ofOperator !== undefined) return ofOperator;
      const judged = judgeCredentials("master.creds_file", found.credentials, clock.now(), newerCredentials);
      const lacking = lackingGrants(readClaims(parseCredentials(found.credentials).jwt));
      if (judged.level === "fail" || lacking.length === 0) return judged;
      const [first = "", ...others] = lacking;
      const more = others.length === 0 ? "" : ` and ${others.length} more`;
      return {
        level: "warn",
        message: `created by an older svc: they may not publish on ${first}${more}`,
        next: newerCredentials,
      };
    },
  },
  ...busSteps(["configuration"], ["credentials"]),
  ...storageSteps,
  masterStep,
  leaseStep,
  identityStep,
  filesStep,
  releaseStep,
  tracesStep,
];

/** The JWT of an operator file, which svc renews once a day; `undefined` for other credentials. */
function judgeOperatorFile(credentials: string, now: number): Finding | undefined {
  const { name, exp, nats } = readClaims(parseCredentials(credentials).jwt);
  if (exp === undefined || !Array.isArray(nats.tags)) return undefined;
  const ends = rfc3339(exp * 1000);
  if (exp * 1000 > now) return { level: "ok", message: "an operator file, renewed once a day" };
  return {
    level: "fail",
    message: `the JWT in the operator file of ${name} ended at ${ends}`,
    next: `an operator with role admin makes another file with svc operator renew ${name}`,
  };
}

/**
 * Runs all steps and prints the results. The bus may be unreachable.
 *
 * @param options.peel encoded id of a peel to check as well
 * @throws Exit 1 when a step failed
 */
export async function findTrouble(
  cli: Cli,
  { peel, ...words }: DirectWords & { peel: string | undefined },
): Promise<void> {
  const direct = directOf(cli, words);
  const options = once(() => operatorBus(cli, direct));
  await inTime(cli, async ({ late, connect }) => {
    const bus = once(async () =>
      connect({ ...options(), log: quietLog(cli), span: await operatorSpan(cli) }),
    );
    const reads = async () =>
      direct === undefined ? readFleet(await bus()) : readDirectly(await bus(), cli);
    const context: DoctorContext = {
      clock: cli.clock,
      urls: () => options().urls,
      ca: () => options().ca,
      client: () => options().clientCertificate,
      identity: () => options().identity,
      tracing: once(() => operatorTracing(cli)),
      connect: bus,
      reads,
      survey: once(async () => (await reads()).survey()),
      masters: once(async () => (await reads()).masters()),
      files: async () => (await reads()).files?.(),
      probe: once(async () => {
        const reader = await reads();
        const requestedAt = cli.clock.now();
        const begun = cli.clock.monotonic();
        const found = await reader.probe();
        return { ...found, requestedAt, roundTripMs: cli.clock.monotonic() - begun };
      }),
    };
    const all = peel === undefined ? steps : [...steps, ...peelSteps(peel)];
    await showSteps(await takeSteps(all, context, late), cli);
  });
}
