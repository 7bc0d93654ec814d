import {
  challengeTpm,
  deliver,
  findByKey,
  followState,
  getChallenge,
  getState,
  type PeelEnrollmentDeps,
  recoverCredentials,
  submit,
} from "../../../fleet/enrollment/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";

const noSuchEnrollment = "The enrollment does not exist";
const open = { auth: "none", budget: "strict", tag: "Enrollment" } as const;

/** The routes for peels without credentials (specification, "Peel-facing enrollment endpoints"). */
export function enrollRoutes({ bind, stream }: HttpDoor, deps: PeelEnrollmentDeps): Route[] {
  // Only certificates need more than other bodies.
  const room = deps.challenge.evidence === undefined ? {} : { maxBodyBytes: 16 * 1024 };
  return [
    bind(getChallenge, deps.challenge, {
      ...open,
      method: "GET",
      path: "/api/v1/enroll/nonce",
      id: "getChallenge",
      answers: { 200: "A challenge", 400: "A parameter is missing or malformed" },
    }),
    bind(challengeTpm, deps.challengeTpm, {
      ...open,
      method: "POST",
      path: "/api/v1/enroll/tpm",
      id: "challengeTpm",
      body: "required",
      bodyTitle: "TpmKeys",
      ...room,
      answers: {
        200: "The secret",
        401: "The challenge or the endorsement certificate is not valid",
        404: "This master accepts no TPM",
      },
    }),
    bind(submit, deps.enroll, {
      ...open,
      method: "POST",
      path: "/api/v1/enroll",
      id: "enroll",
      body: "required",
      ...room,
      show: "enrolled",
      status: ({ created }) => (created ? 201 : 200),
      answers: {
        200: "This peel is already waiting for a decision, or was waiting and is approved now",
        201: "The enrollment waits for a decision, or is `approved` already",
        401: "The challenge, a signature, the proof of a token or the evidence is not valid",
        403: "The token has ended, is used up or revoked, or is for other hosts; the host is not enrolled",
        409: "This peel id has a live enrollment",
      },
    }),
    bind(getState, deps.state, {
      ...open,
      method: "GET",
      path: "/api/v1/enroll/:id/status",
      id: "getEnrollmentState",
      answers: { 200: "The state", 404: noSuchEnrollment },
    }),
    stream(followState, deps.state, {
      ...open,
      path: "/api/v1/enroll/:id/stream",
      id: "streamEnrollmentState",
      maxDurationMs: 30 * 60 * 1000,
      answers: { 200: "The stream", 404: noSuchEnrollment },
    }),
    bind(deliver, deps.deliver, {
      ...open,
      auth: "nkey",
      method: "GET",
      path: "/api/v1/enroll/:id/creds",
      id: "downloadCredentials",
      answers: {
        200: "The credentials; the enrollment is `issued` now",
        401: "The signature is not valid",
        403: "The enrollment is not `approved`",
        404: noSuchEnrollment,
        409: "A concurrent download was first",
      },
    }),
    bind(recoverCredentials, deps.recover, {
      ...open,
      method: "POST",
      path: "/api/v1/enroll/:id/recover",
      id: "recoverCredentials",
      body: "required",
      bodyTitle: "Recovery",
      answers: {
        200: "The credentials, without the seed, which only the peel has",
        401: "The key, the challenge or the signature is not valid",
        403: "The enrollment is neither `issued` nor `active`, or its credentials ended longer ago than `enroll.recovery_window`",
        404: noSuchEnrollment,
        503: "The peel is suspended",
      },
    }),
    bind(findByKey, deps.byKey, {
      ...open,
      auth: "nkey",
      method: "GET",
      path: "/api/v1/enroll/by-key/:key",
      id: "findEnrollmentOfKey",
      answers: {
        200: "The enrollment",
        401: "The signature is not valid, or not of the key in the path",
        404: "No enrollment has this key",
      },
    }),
  ];
}
