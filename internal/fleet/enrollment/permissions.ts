import { peelInboxPrefix } from "../../bus/mod.ts";

/**
 * What a peel may take of a server. A peel holds about ten subscriptions, and the largest message that it
 * sends has half of this size; what exceeds it ends the connection.
 */
export const peelLimits = { subs: 64, data: -1, payload: 1024 * 1024 } as const;

/**
 * What a peel may do inside the peels' account: only what carries its own token, plus the published
 * cluster information. It has no grant on the JetStream API at all.
 */
export function peelPermissions(peelId: string): { pub: { allow: string[] }; sub: { allow: string[] } } {
  return {
    pub: {
      allow: [
        `$KV.peel-heartbeat.${peelId}`,
        `$KV.facts.${peelId}`,
        `svc.job.*.ack.${peelId}`,
        `svc.job.*.return.${peelId}`,
        `svc.job.*.schedule.${peelId}`,
        `svc.job.*.progress.${peelId}`,
        `svc.event.${peelId}.>`,
        `svc.peel.${peelId}.hello`,
        `svc.peel.${peelId}.fetch`,
      ],
    },
    sub: {
      allow: [
        `${peelInboxPrefix(peelId)}.>`,
        `svc.job.*.dispatch.${peelId}`,
        `svc.job.*.stop.${peelId}`,
        `svc.peel.${peelId}.hint`,
        "$KV.secrets._cluster_info",
      ],
    },
  };
}
