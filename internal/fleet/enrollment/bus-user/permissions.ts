import { peelInboxPrefix, siteDispatchSubject, siteHintSubject } from "../../../bus/subjects/subjects.ts";

/**
 * Limits of a peel on a bus server. A peel has about ten subscriptions, and the largest message that it sends
 * has half of this size; the server ends a connection that exceeds a limit.
 */
export const peelLimits = { subs: 64, data: -1, payload: 1024 * 1024 } as const;

/**
 * The permissions of a peel inside the peels' account: only subjects with its own token, and the published
 * cluster information. It has no permission for the JetStream API.
 *
 * @param site the one whose commands it hears
 */
export function peelPermissions(
  peelId: string,
  site?: string,
): { pub: { allow: string[] }; sub: { allow: string[] } } {
  return {
    pub: {
      allow: [
        `$KV.peel-heartbeat.${peelId}`,
        `$KV.facts.${peelId}`,
        `$KV.compliance.${peelId}`,
        `$KV.compliance-diffs.${peelId}`,
        `svc.job.*.ack.${peelId}`,
        `svc.job.*.return.${peelId}`,
        `svc.job.*.schedule.${peelId}`,
        `svc.job.*.progress.${peelId}`,
        `svc.event.${peelId}.>`,
        `svc.peel.${peelId}.hello`,
        `svc.peel.${peelId}.fetch`,
        `svc.peel.${peelId}.renew`,
        `svc.peel.${peelId}.rekey`,
      ],
    },
    sub: {
      allow: [
        `${peelInboxPrefix(peelId)}.>`,
        `svc.job.*.dispatch.${peelId}`,
        `svc.job.*.stop.${peelId}`,
        `svc.peel.${peelId}.hint`,
        "$KV.secrets._cluster_info",
        ...(site === undefined ? [] : [siteDispatchSubject(site, "*"), siteHintSubject(site)]),
      ],
    },
  };
}
