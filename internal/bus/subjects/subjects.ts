// Every subject of the bus is defined here. A peel may use only subjects with its token. The token of the
// subject identifies the sender of a message, never the payload.

export const adminQueue = "svc-masters-admin" as const;
export const mastersQueue = "svc.masters" as const;
/** Where operators acknowledge parts of an answer that streams. @param token `*` is every stream */
export const followSubject = (token: string): string => `svc.admin.follow.${token}`;
/** What the stream `job-events` captures. */
export const jobEventSubjects = ["svc.job.*.ack.*", "svc.job.*.return.*", "svc.job.*.schedule.*"];

/** What the stream `audit` captures: one subject for each action. */
export const auditSubjects = ["svc.audit.>"];
/** Where the entries of an action are stored. @param action the name of an operation, such as `jobs.create` */
export const auditSubject = (action: string): string => `svc.audit.${action}`;
/**
 * Where a master passes on what operators ask of the reactor over REST: only masters may publish below `svc.master`,
 * but for readiness.
 *
 * @param subject where operators ask it over the bus
 */
export const relayedReactorSubject = (subject: string): string =>
  subject.replace(/^svc\.reactor\./, "svc.master.reactor.");
export const dispatchSubject = (jid: string, peel: string): string => `svc.job.${jid}.dispatch.${peel}`;
export const ackSubject = (jid: string, peel: string): string => `svc.job.${jid}.ack.${peel}`;
export const returnSubject = (jid: string, peel: string): string => `svc.job.${jid}.return.${peel}`;
export const scheduleSubject = (jid: string, peel: string): string => `svc.job.${jid}.schedule.${peel}`;
export const stopSubject = (jid: string, peel: string): string => `svc.job.${jid}.stop.${peel}`;
/** Where a peel reports the progress of a job; `*` is every peel. It is not stored. */
export const progressSubject = (jid: string, peel: string): string => `svc.job.${jid}.progress.${peel}`;
/** Where a peel reports an event to the reactor; the tokens of its tag follow. */
export const eventSubject = (peel: string, tokens: string): string => `svc.event.${peel}.${tokens}`;
/** The tokens of an event subject: the sender and the tag; `undefined` for another subject. */
export function parseEventSubject(subject: string): { peel: string; tokens: string[] } | undefined {
  const [svc, event, peel, ...tokens] = subject.split(".");
  if (svc !== "svc" || event !== "event" || !peel || tokens.length === 0) return undefined;
  return { peel, tokens };
}
/** Where a peel sends its hello after each connect; `*` is every peel. */
export const helloSubject = (peel: string): string => `svc.peel.${peel}.hello`;
/** Where a peel receives hints; their content has no meaning. */
export const hintSubject = (peel: string): string => `svc.peel.${peel}.hint`;
/** Where masters give all peels of a site a command at once; `*` is every job. */
export const siteDispatchSubject = (site: string, jid: string): string => `svc.site.${site}.dispatch.${jid}`;
/** Where the peels of a site receive hints that are for all of them. */
export const siteHintSubject = (site: string): string => `svc.site.${site}.hint`;
/** Where masters notify each other of the command keys that a peel has confirmed in its hello. It is not stored. */
export const knownKeysSubject = "svc.master.known-keys";
/** Where a peel fetches state files and binaries; `*` is every peel. */
export const fetchSubject = (peel: string): string => `svc.peel.${peel}.fetch`;
/** Where a peel renews its credentials; `*` is every peel. */
export const renewSubject = (peel: string): string => `svc.peel.${peel}.renew`;
/** Where a peel changes its keys; `*` is every peel. */
export const rekeySubject = (peel: string): string => `svc.peel.${peel}.rekey`;
/** Where operators ask a master for its own readiness. */
export const readyzSubject = (master: string): string => `svc.master.${master}.readyz`;
/** In place of a name there: whichever master runs, also one that does not serve requests. No master has this name. */
export const anyMaster = "_any";
/** The subject under which a key of a bucket is stored (NATS document ADR-8). */
export const keySubject = (bucket: string, key: string): string => `$KV.${bucket}.${key}`;
/** Where the other masters ask it the same; no operator may publish there, so nobody signs it. */
export const readyzOfMasterSubject = (master: string): string => `svc.master.readiness.${master}`;
/** Where the other masters ask the one that publishes state files what it refuses. */
export const filesOfMasterSubject = (master: string): string => `svc.master.files.${master}`;
/** The inbox prefix of a peel: no other client may subscribe below it. */
export const peelInboxPrefix = (peel: string): string => `_INBOX_${peel}`;

/** What peels say of a job, of each kind and each peel; and what masters sent them, which is not stored. */
export const jobSubjects = (jid: string): string => `svc.job.${jid}.*.*`;

/** The parts of a job subject; `undefined` for another subject. */
export function parseJobSubject(subject: string): { jid: string; kind: string; peel: string } | undefined {
  const [svc, job, jid, kind, peel, ...rest] = subject.split(".");
  if (svc !== "svc" || job !== "job" || !jid || !kind || !peel || rest.length > 0) return undefined;
  return { jid, kind, peel };
}
