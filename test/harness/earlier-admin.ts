import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { type Bus, connectBus } from "../../internal/bus/connect.ts";
import { formatCredentials } from "../../internal/identity/credentials.ts";
import { encodeJwt } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import type { TestBus } from "./bus.ts";
import { recordingLog } from "./log.ts";

/** What an `admin.creds` of an earlier version may publish; a file that exists keeps these grants. */
const earlierGrants = [
  ...["svc.admin.enroll.*", "svc.job.request", "svc.job.list", "svc.job.*.cancel", "svc.target.resolve"],
  ...["svc.rollout.*", "svc.binary.*", "svc.reactor.*", "$JS.FC.>", "$JS.API.INFO", "$JS.API.STREAM.NAMES"],
  ...["$KV.enrollments.>", "$KV.revocations.>"],
  ...["KV_enrollments", "KV_revocations", "KV_jobs", "KV_facts"].flatMap((stream) => [
    ...[`$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.MSG.GET.${stream}`],
    ...[`$JS.API.CONSUMER.CREATE.${stream}`, `$JS.API.CONSUMER.CREATE.${stream}.>`],
    ...[`$JS.API.CONSUMER.INFO.${stream}.*`, `$JS.API.CONSUMER.DELETE.${stream}.*`],
  ]),
];

/** Connects with credentials that an earlier version gave to operators. */
export function connectEarlierAdmin({ url, authDir, caPem }: TestBus): Promise<Bus> {
  const account = keyPairFromSeed("account", readFileSync(join(authDir, "masters.seed"), "utf8"));
  const user = newKeyPair("user", systemRandom);
  const anything = { subs: -1, data: -1, payload: -1 };
  const nats = { ...anything, pub: { allow: earlierGrants }, sub: { allow: ["_INBOX.>", "svc.job.>"] } };
  const issuedAt = Math.floor(systemClock.now() / 1000);
  const jwt = encodeJwt({ type: "user", name: "admin", subject: user.publicKey, issuedAt, nats }, account);
  return connectBus({
    ...{ urls: [url], name: "earlier-admin", ca: caPem, clock: systemClock, log: recordingLog() },
    identity: { credentials: formatCredentials(jwt, user.seed) },
  });
}
