import { encodeBase64 } from "../../../base/base64.ts";
import { type Clock, rfc3339 } from "../../../base/clock.ts";
import type { Bucket } from "../../../bus/bucket.ts";
import { type ChallengeDeps, issueChallenge } from "../../../fleet/enrollment/challenge.ts";
import { type DeliverDeps, deliverCredentials } from "../../../fleet/enrollment/deliver.ts";
import type { Directory } from "../../../fleet/enrollment/directory.ts";
import { type EnrollDeps, enroll } from "../../../fleet/enrollment/enroll.ts";
import { loadEnrollment } from "../../../fleet/enrollment/store.ts";
import { isStreamTerminal } from "../../../fleet/enrollment/transition.ts";
import { checkPeelId, checkPublicKey, checkSubmission } from "../../../fleet/enrollment/validate.ts";
import { enrollDocs } from "./enroll-docs.ts";
import { json, type Route } from "./route.ts";
import { eventStream } from "./stream.ts";

const heartbeatMs = 30_000;
const maxStreamMs = 30 * 60 * 1000;

export interface EnrollRouteDeps {
  enrollments: Bucket;
  directory: Directory;
  challenge: ChallengeDeps;
  enroll: EnrollDeps;
  deliver: DeliverDeps;
  /** Public keys that sign commands; a peel learns them with its credentials. */
  commandKeys: readonly string[];
  metrics: { streamOpened(): () => void };
  clock: Clock;
}

/** The doors a peel without credentials walks through (specification, "Peel-facing enrollment endpoints"). */
export function enrollRoutes(deps: EnrollRouteDeps): Route[] {
  return [
    {
      method: "GET",
      path: "/api/v1/enroll/nonce",
      auth: "none",
      budget: "strict",
      doc: enrollDocs.nonce,
      async handle({ query }) {
        const peelId = checkPeelId(query.get("peel_id"));
        const publicKey = checkPublicKey(query.get("public_key"));
        const challenge = await issueChallenge(deps.challenge, { peelId, publicKey });
        return json(200, {
          challenge_id: challenge.id,
          challenge: encodeBase64(challenge.bytes),
          expires_at: rfc3339(challenge.expiresAt),
        });
      },
    },
    {
      method: "POST",
      path: "/api/v1/enroll",
      auth: "none",
      budget: "strict",
      body: "json",
      doc: enrollDocs.enroll,
      async handle({ body, note, log }) {
        const { record, created, keyMismatch } = await enroll({ ...deps.enroll, log }, checkSubmission(body));
        note({ enrollment_id: record.id });
        return json(created ? 201 : 200, {
          id: record.id,
          peel_id: record.peelId,
          state: record.state,
          ...(keyMismatch ? { key_mismatch: true } : {}),
        });
      },
    },
    {
      method: "GET",
      path: "/api/v1/enroll/:id/status",
      auth: "none",
      budget: "strict",
      doc: enrollDocs.status,
      async handle({ params, note }) {
        const { record } = await loadEnrollment(deps.enrollments, params.id ?? "");
        note({ enrollment_id: record.id });
        return json(200, { id: record.id, peel_id: record.peelId, state: record.state });
      },
    },
    {
      method: "GET",
      path: "/api/v1/enroll/:id/stream",
      auth: "none",
      budget: "strict",
      doc: enrollDocs.stream,
      async handle({ params, signal, note, keepOpen }) {
        const { record } = await loadEnrollment(deps.enrollments, params.id ?? "");
        note({ enrollment_id: record.id });
        keepOpen();
        return eventStream({
          clock: deps.clock,
          signal,
          heartbeatMs,
          maxDurationMs: maxStreamMs,
          start(sink) {
            let last: string | undefined;
            const show = (state: typeof record.state) => {
              if (state === last) return;
              last = state;
              sink.send("state", { id: record.id, peel_id: record.peelId, state });
              if (isStreamTerminal(state)) sink.close();
            };
            // Subscribed first and read again after: a change between the two is not lost.
            const closed = deps.metrics.streamOpened();
            const unsubscribe = deps.directory.subscribe(record.id, show);
            show(record.state);
            loadEnrollment(deps.enrollments, record.id)
              .then((fresh) => show(fresh.record.state))
              .catch(() => {
                // The subscription still tells.
              });
            return () => {
              unsubscribe();
              closed();
            };
          },
        });
      },
    },
    {
      method: "GET",
      path: "/api/v1/enroll/:id/creds",
      auth: "nkey",
      budget: "strict",
      doc: enrollDocs.creds,
      async handle({ params, headers, note, log }) {
        note({ enrollment_id: params.id });
        const delivery = await deliverCredentials(
          { ...deps.deliver, log },
          params.id ?? "",
          headers.get("authorization") ?? undefined,
        );
        return json(200, {
          peel_id: delivery.record.peelId,
          creds_data: encodeBase64(Buffer.from(delivery.credentials)),
          expires_at: rfc3339(delivery.expiresAt),
          command_keys: deps.commandKeys,
        });
      },
    },
  ];
}
