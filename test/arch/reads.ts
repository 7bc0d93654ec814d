import { isProduction, parse, type Source, type Violation } from "./source.ts";

/** The functions of the room bus that open buckets and streams, or subscribe. */
const opening =
  /^(?:open(?:Bucket|BlobStore|ContentStore)|read(?:Latest|Range|Stream|Values|Fullness)|list(?:Entries|Streams)|inspect(?:Assets|Fullness)|countStored|maxReplicas|clockDifference|probeStorage|storedSubjects|messageAt|untilKey|shareWatch|readOnHints|createConsumer|backUpBus|restoreBus)$/;

/** Files of svc that look at storage without a master: with `direct.creds`, or at a whole bus with `master.creds`. */
const direct = new Set([
  "internal/cli/bus/backup.ts",
  "internal/cli/bus/restore.ts",
  "internal/cli/direct-reads.ts",
  "internal/cli/enroll/connect.ts",
  "internal/cli/enroll/read-list.ts",
  "internal/cli/enroll/revoke.ts",
  "internal/cli/setup/read-backup.ts",
]);

/** Files of svc that open buckets or streams, or subscribe, where masters answer for operators. */
export function checkReads(sources: Source[]): Violation[] {
  return sources
    .filter((source) => isProduction(source) && source.path.startsWith("internal/cli/"))
    .filter(({ path }) => !direct.has(path))
    .flatMap((source) => {
      const taken = parse(source)
        .taken.filter(({ from }) => /(?:^|\/)bus\/(?:mod|[a-z-]+)\.ts$/.test(from))
        .flatMap(({ names }) => names)
        .filter((name) => opening.test(name));
      const subscribes = /\bnats\.(?:subscribe|jetstream)/.test(source.text) ? ["a subscription"] : [];
      return [...taken, ...subscribes].map((name) => ({
        path: source.path,
        problem: `takes ${name}; ask a master with an operation: operators have no rights on storage`,
      }));
    });
}
