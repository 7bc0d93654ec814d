// Every subject of the bus is defined here. A peel may use only subjects with its token. The token of the
// subject identifies the sender of a message, never the payload.

export const adminQueue = "svc-masters-admin" as const;
export const mastersQueue = "svc.masters" as const;
export const targetQueue = "svc-target-resolvers" as const;
export const jobRequestSubject = "svc.job.request";
export const targetResolveSubject = "svc.target.resolve";
export const jobListSubject = "svc.job.list";
/** Where operators upload a binary for peels: its chunks, then its manifest. */
export const binaryPutSubject = "svc.binary.put";
export const binaryCommitSubject = "svc.binary.commit";
/** Where operators acknowledge parts of an answer that streams. @param token `*` is every stream */
export const followSubject = (token: string): string => `svc.admin.follow.${token}`;
/** What the stream `job-events` captures. */
export const jobEventSubjects = ["svc.job.*.ack.*", "svc.job.*.return.*", "svc.job.*.schedule.*"];

/** What the stream `audit` captures: one subject for each action. */
export const auditSubjects = ["svc.audit.>"];
/** Where the entries of an action are stored. @param action the name of an operation, such as `jobs.create` */
export const auditSubject = (action: string): string => `svc.audit.${action}`;
/** Requests of operators to the masters about the audit. */
export type AuditAction = "list" | "show" | "chain";
export const auditRequestSubject = (action: AuditAction): string => `svc.admin.audit.${action}`;

/** Where operators ask one master about its log of decisions. */
export const decisionsSubject = (master: string): string => `svc.admin.enroll.decisions-${master}`;
export type AdminAction =
  | "approve"
  | "reject"
  | "revoke"
  | "revoke-user"
  | "label"
  | "expect"
  | "expected"
  | "unexpect"
  | "ways"
  | "policy-test"
  | "suspend"
  | "resume"
  | "clear-clone"
  | "list"
  | "show"
  | "strays"
  | "restore"
  | "discard";

/** Requests of operators to the masters about rollouts. */
export type RolloutAction = "start" | "list" | "show" | "pause" | "resume" | "abort";

/** Requests of operators to the masters about roles. */
export const rolesSubject = (action: "show" | "can"): string => `svc.admin.role.${action}`;
export const rolloutSubject = (action: RolloutAction): string => `svc.rollout.${action}`;
export const adminSubject = (action: AdminAction): string => `svc.admin.enroll.${action}`;
/** Requests of operators about what the masters know of peels: all of them only read. */
export type PeelAction =
  | "list"
  | "show"
  | "facts"
  | "find-facts"
  | "count-facts"
  | "facts-history"
  | "heartbeat"
  | "survey"
  | "roots"
  | "inventory";
export const peelsSubject = (action: PeelAction): string => `svc.admin.peel.${action}`;
/** Where operators ask what happened. */
export const eventListSubject = "svc.admin.event.list";
/** Requests of operators about what the last runs of states did. */
export const statesSubject = (action: "status" | "drift" | "show"): string => `svc.admin.states.${action}`;
/** Requests of operators about the settings of peels. */
export type SettingsAction = "show" | "explain" | "reveal" | "reveal-explained";
export const settingsSubject = (action: SettingsAction): string => `svc.admin.settings.${action}`;
/** Requests of operators about the masters themselves. */
export const masterListSubject = "svc.admin.master.list";
export const storageProbeSubject = "svc.admin.master.probe";
/** Where operators ask what depends on a key that is being replaced. */
export const keyDependentsSubject = "svc.admin.key.dependents";
/** Requests of operators about the cluster of the bus. */
export type ClusterAction = "status" | "check" | "add" | "remove" | "add-site" | "remove-site";
export const clusterSubject = (action: ClusterAction): string => `svc.admin.cluster.${action}`;
/** Where an operator asks for a link to the console. */
export const consoleLinkSubject = "svc.admin.console.link";
/** Requests of operators about tokens that hosts join with. */
export type JoinTokenAction = "create" | "list" | "show" | "revoke";
export const joinTokenSubject = (action: JoinTokenAction): string => `svc.admin.join-token.${action}`;
/** Requests of operators about those that wait for others. */
export type ApprovalAction = "list" | "show" | "approve" | "deny";
export const approvalSubject = (action: ApprovalAction): string => `svc.admin.approval.${action}`;
/** Requests about the operators themselves. */
export type OperatorAction =
  | "add"
  | "disable"
  | "enable"
  | "roles"
  | "remove"
  | "list"
  | "show"
  | "whoami"
  | "adoption"
  | "renew"
  | "administrators"
  | "replace-administrators";
export const operatorSubject = (action: OperatorAction): string => `svc.admin.operator.${action}`;
/** Requests of operators to the master that runs the reactor. */
export type ReactorAction = "test" | "status" | "rules" | "reset";
export const reactorSubject = (action: ReactorAction): string => `svc.reactor.${action}`;
/** Where a master passes on what operators ask of it over REST: only masters may publish below `svc.master`, but for readiness. */
export const relayedReactorSubject = (action: ReactorAction): string => `svc.master.reactor.${action}`;
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
/** Where operators ask for the cancellation of a job; `*` is every job. */
export const cancelSubject = (jid: string): string => `svc.job.${jid}.cancel`;
/** Where a peel sends its hello after each connect; `*` is every peel. */
export const helloSubject = (peel: string): string => `svc.peel.${peel}.hello`;
/** Where a peel receives hints; their content has no meaning. */
export const hintSubject = (peel: string): string => `svc.peel.${peel}.hint`;
/** Where masters give all peels of a site a command at once; `*` is every job. */
export const siteDispatchSubject = (site: string, jid: string): string => `svc.site.${site}.dispatch.${jid}`;
/** Where the peels of a site receive hints that are for all of them. */
export const siteHintSubject = (site: string): string => `svc.site.${site}.hint`;
/** Where masters tell each other which command keys a peel has confirmed in its hello. It is not stored. */
export const knownKeysSubject = "svc.master.known-keys";
/** Where a peel fetches state files and binaries; `*` is every peel. */
export const fetchSubject = (peel: string): string => `svc.peel.${peel}.fetch`;
/** Where a peel renews its credentials; `*` is every peel. */
export const renewSubject = (peel: string): string => `svc.peel.${peel}.renew`;
/** Where a peel changes its keys; `*` is every peel. */
export const rekeySubject = (peel: string): string => `svc.peel.${peel}.rekey`;
/** Where operators ask a master for its own readiness. */
export const readyzSubject = (master: string): string => `svc.master.${master}.readyz`;
/** The subject under which a key of a bucket is stored (NATS document ADR-8). */
export const keySubject = (bucket: string, key: string): string => `$KV.${bucket}.${key}`;
/** Where the other masters ask it the same; no operator may publish there, so nobody signs it. */
export const readyzOfMasterSubject = (master: string): string => `svc.master.readiness.${master}`;
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
