import { peelInboxPrefix } from "../../bus/mod.ts";

/**
 * The permissions of a peel inside the peels' account: only subjects with its own token, and the published
 * cluster information. It has no permission for the JetStream API.
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
