import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const noSuchEnrollment = "The enrollment does not exist";
const open = { auth: "none", budget: "strict", tag: "Enrollment" } as const;
const byKey = { ...open, auth: "nkey" } as const;
const tag = "Enrollments";
const decision = { method: "POST", tag, show: "enrollment" } as const;
const decided = {
  200: "The enrollment as it is now",
  404: noSuchEnrollment,
  409: "Its state does not allow this, or other requests are changing it",
  503: "The bus has lost what this master knows, and the master is putting it back",
};
const notFound = { not_found: "see svc enroll list --state all" };
const hints = { svc: notFound };

/** How enrollments are reached, by peels without credentials and by operators. */
export const enrollmentDoors = {
  getChallenge: {
    rest: {
      ...{ ...open, method: "GET", path: "/api/v1/enroll/nonce", join: "challenge" },
      answers: { 200: "A challenge", 400: "A parameter is missing or malformed" },
    },
  },
  challengeTpm: {
    rest: {
      ...{ ...open, method: "POST", path: "/api/v1/enroll/tpm", join: "evidence" },
      ...{ body: "required", bodyTitle: "TpmKeys" },
      answers: {
        200: "The secret",
        401: "The challenge or the endorsement certificate is not valid",
        404: "This master accepts no TPM",
      },
    },
  },
  enroll: {
    rest: {
      ...{ ...open, method: "POST", path: "/api/v1/enroll", join: "submit" },
      ...{ body: "required", show: "enrolled" },
      statusWith: { field: "created", status: 201 },
      answers: {
        200: "This peel is already waiting for a decision, or was waiting and is approved now",
        201: "The enrollment waits for a decision, or is `approved` already; it may replace one that proved nothing",
        401: "The challenge, a signature, the proof of a token or the evidence is not valid",
        403: "The token has ended, is used up or revoked, or is for other hosts; the host is not enrolled",
        409: "This peel id has a live enrollment",
      },
    },
  },
  getEnrollmentState: {
    rest: {
      ...{ ...open, method: "GET", path: "/api/v1/enroll/:id/status", join: "state" },
      answers: { 200: "The state", 404: noSuchEnrollment },
    },
  },
  streamEnrollmentState: {
    rest: {
      ...{ ...open, method: "GET", path: "/api/v1/enroll/:id/stream", join: "stream" },
      stream: { maxDurationMs: 30 * 60 * 1000 },
      answers: { 200: "The stream", 404: noSuchEnrollment },
    },
  },
  downloadCredentials: {
    rest: {
      ...{ ...byKey, method: "GET", path: "/api/v1/enroll/:id/creds", join: "credentials" },
      answers: {
        200: "The credentials; the enrollment is `issued` now",
        401: "The signature is not valid",
        403: "The enrollment is not `approved`",
        404: noSuchEnrollment,
        409: "A concurrent download was first",
      },
    },
  },
  recoverCredentials: {
    rest: {
      ...{ ...open, method: "POST", path: "/api/v1/enroll/:id/recover" },
      ...{ body: "required", bodyTitle: "Recovery" },
      answers: {
        200: "The credentials, without the seed, which only the peel has",
        401: "The key, the challenge or the signature is not valid",
        403: "The enrollment is neither `issued` nor `active`, or its credentials ended longer ago than `enroll.recovery_window`",
        404: noSuchEnrollment,
        503: "The peel is suspended",
      },
    },
  },
  findEnrollmentOfKey: {
    rest: {
      ...{ ...byKey, method: "GET", path: "/api/v1/enroll/by-key/:key" },
      answers: {
        200: "The enrollment",
        401: "The signature is not valid, or not of the key in the path",
        404: "No enrollment has this key",
      },
    },
  },
  listEnrollments: {
    rest: {
      ...{ method: "GET", path: "/api/v1/enrollments", tag, page: "enrollments", readsAll: true },
      answers: { 200: "One page of them", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.enroll.list", page: { usual: 500, max: 1_000 } },
  },
  // The requests of all decisions have the same fields.
  approveEnrollment: {
    rest: {
      ...{ ...decision, path: "/api/v1/enrollments/:id/approve", bodyTitle: "Approval" },
      answers: { ...decided, 409: "Its state does not allow this, or the peel trusted another CA root" },
    },
    bus: { subject: "svc.admin.enroll.approve", ignored: ["reason"] },
    hints: {
      svc: { ...notFound, trust_mismatch: "approve it anyway with --force" },
      rest: { trust_mismatch: 'approve it anyway with {"force": true}' },
    },
  },
  rejectEnrollment: {
    rest: {
      ...{ ...decision, path: "/api/v1/enrollments/:id/reject", bodyTitle: "Reason" },
      answers: decided,
    },
    bus: { subject: "svc.admin.enroll.reject", ignored: ["force"] },
    hints,
  },
  revokeEnrollment: {
    rest: {
      ...{ ...decision, path: "/api/v1/enrollments/:id/revoke", bodyTitle: "Reason" },
      answers: { ...decided, 503: "The enrollment is revoked; the bus has not confirmed it yet" },
    },
    bus: { subject: "svc.admin.enroll.revoke", ignored: ["force"] },
    hints,
  },
  labelEnrollment: {
    rest: {
      ...{ ...decision, method: "PUT", path: "/api/v1/enrollments/:id/labels" },
      ...{ body: "required", bodyTitle: "Labels" },
      answers: {
        ...decided,
        409: "The labels are not those of `expected`, or its state does not allow this",
      },
    },
    bus: { subject: "svc.admin.enroll.label" },
    hints,
  },
  suspendEnrollment: {
    rest: {
      ...{ ...decision, path: "/api/v1/enrollments/:id/suspend", bodyTitle: "Reason" },
      answers: { ...decided, 503: "The enrollment is suspended; the bus has not confirmed it yet" },
    },
    bus: { subject: "svc.admin.enroll.suspend" },
    hints,
  },
  resumeEnrollment: {
    rest: {
      ...{ ...decision, path: "/api/v1/enrollments/:id/resume" },
      answers: { ...decided, 503: "The enrollment is resumed; the bus has not confirmed it yet" },
    },
    bus: { subject: "svc.admin.enroll.resume" },
    hints,
  },
  clearClone: {
    rest: { ...decision, path: "/api/v1/enrollments/:id/clear-clone", answers: decided },
    bus: { subject: "svc.admin.enroll.clear-clone" },
    hints,
  },
  restoreEnrollment: {
    rest: {
      ...{ ...decision, path: "/api/v1/enrollments/:id/restore" },
      answers: {
        200: "The enrollment as it is again",
        404: "No revision of it is left that a master made",
        409: "It is as a master made it, or its peel has another live enrollment",
        503: decided[503],
      },
    },
    bus: { subject: "svc.admin.enroll.restore" },
  },
  showEnrollment: {
    rest: {
      ...{ method: "GET", path: "/api/v1/enrollments/:id", tag },
      answers: { 200: "The enrollment", 404: noSuchEnrollment },
    },
    bus: { subject: "svc.admin.enroll.show" },
    hints,
  },
  listStrays: {
    rest: {
      ...{ method: "GET", path: "/api/v1/enrollments/strays", tag },
      answers: { 200: "All of them" },
    },
    bus: { subject: "svc.admin.enroll.strays" },
  },
  // Not over REST: what no master vouches for is repaired by operators whose requests are signed.
  discardEnrollment: { bus: { subject: "svc.admin.enroll.discard" }, hints },
  // Not over REST: the same.
  revokeUserOfBus: {
    bus: { subject: "svc.admin.enroll.revoke-user" },
    hints: { svc: { not_found: "revoke the key with --key U…; see svc enroll strays" } },
  },
} as const satisfies Doors<typeof operations>;
