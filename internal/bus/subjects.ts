// Every subject of the bus, written once. Subjects that carry a peel's token are the ones a peel
// may use; the identity of a message is always the token of its subject, never its payload.

export const adminQueue = "svc-masters-admin";
export const mastersQueue = "svc.masters";
export const targetQueue = "svc-target-resolvers";
export const jobRequestSubject = "svc.job.request";
export const targetResolveSubject = "svc.target.resolve";
export const jobListSubject = "svc.job.list";
/** Where operators upload a binary for peels: its chunks, then its manifest. */
export const binaryPutSubject = "svc.binary.put";
export const binaryCommitSubject = "svc.binary.commit";
/** What the stream `job-events` captures. */
export const jobEventSubjects = ["svc.job.*.ack.*", "svc.job.*.return.*", "svc.job.*.schedule.*"];

/**
 * Where operators ask one master about its log of decisions. The subject is one that credentials of earlier versions
 * may publish on.
 */
export const decisionsSubject = (master: string): string => `svc.admin.enroll.decisions-${master}`;
export type AdminAction = "approve" | "reject" | "revoke" | "revoke-user";

/** What operators ask of the masters about rollouts. */
export type RolloutAction = "start" | "list" | "pause" | "resume" | "abort";

export const rolloutSubject = (action: RolloutAction): string => `svc.rollout.${action}`;
export const adminSubject = (action: AdminAction): string => `svc.admin.enroll.${action}`;
/** What operators ask the master whose reactor runs. */
export type ReactorAction = "test" | "status" | "rules" | "reset";
export const reactorSubject = (action: ReactorAction): string => `svc.reactor.${action}`;
export const dispatchSubject = (jid: string, peel: string): string => `svc.job.${jid}.dispatch.${peel}`;
export const ackSubject = (jid: string, peel: string): string => `svc.job.${jid}.ack.${peel}`;
export const returnSubject = (jid: string, peel: string): string => `svc.job.${jid}.return.${peel}`;
export const scheduleSubject = (jid: string, peel: string): string => `svc.job.${jid}.schedule.${peel}`;
export const stopSubject = (jid: string, peel: string): string => `svc.job.${jid}.stop.${peel}`;
/** Where a peel tells how far a job is; `*` is every peel. Nothing keeps it. */
export const progressSubject = (jid: string, peel: string): string => `svc.job.${jid}.progress.${peel}`;
/** Where a peel tells the reactor of an event; the tokens of its tag follow. */
export const eventSubject = (peel: string, tokens: string): string => `svc.event.${peel}.${tokens}`;
/** The tokens of an event subject: who it is from, and its tag; `undefined` when it is none. */
export function parseEventSubject(subject: string): { peel: string; tokens: string[] } | undefined {
  const [svc, event, peel, ...tokens] = subject.split(".");
  if (svc !== "svc" || event !== "event" || !peel || tokens.length === 0) return undefined;
  return { peel, tokens };
}
/** Where operators ask for the end of a job; `*` is every job. */
export const cancelSubject = (jid: string): string => `svc.job.${jid}.cancel`;
/** Where a peel asks after every connect what is new; `*` is every peel. */
export const helloSubject = (peel: string): string => `svc.peel.${peel}.hello`;
/** Where a peel hears that something of its own changed; what is said there means nothing. */
export const hintSubject = (peel: string): string => `svc.peel.${peel}.hint`;
/** Where a peel fetches state files and binaries; `*` is every peel. */
export const fetchSubject = (peel: string): string => `svc.peel.${peel}.fetch`;
/** The subject under which a key of a bucket is stored (NATS document ADR-8). */
export const keySubject = (bucket: string, key: string): string => `$KV.${bucket}.${key}`;
/** The inbox prefix of a peel: nobody else may subscribe below it. */
export const peelInboxPrefix = (peel: string): string => `_INBOX_${peel}`;

/** The parts of a job subject, or `undefined` when it is none. */
export function parseJobSubject(subject: string): { jid: string; kind: string; peel: string } | undefined {
  const [svc, job, jid, kind, peel, ...rest] = subject.split(".");
  if (svc !== "svc" || job !== "job" || !jid || !kind || !peel || rest.length > 0) return undefined;
  return { jid, kind, peel };
}
