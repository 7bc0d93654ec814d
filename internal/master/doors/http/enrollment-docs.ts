import {
  type EnrollmentSummary,
  enrollmentSchema,
  enrollmentStates,
} from "../../../fleet/enrollment/record.ts";
import { listOf, objectOf, oneOf, optional, schemaOf, text, time } from "./json-schema.ts";
import { nextPage, pageParameters } from "./page.ts";
import type { RouteDoc } from "./route-doc.ts";

const id = { id: { description: "Id of the enrollment: `enr-` and a KSUID" } };

const record = schemaOf("Enrollment", enrollmentSchema, {
  peel_id: { description: "Encoded peel id" },
  public_key: { description: "Ed25519 public key of the peel" },
  curve_public_key: { description: "X25519 public key of the peel" },
  hostname: { description: "Name of the host, as the peel says" },
  metadata: { type: "object", description: "What else the peel says of itself" },
  DecidedBy: { description: "Operator who decided last" },
  trusted_ca_spki: { description: "SPKI pin of the CA root the peel trusted" },
  TrustMismatch: { description: "That root is not the one of this fleet" },
  creds_expires_at: { description: "When the bus stops accepting the credentials" },
  bus_public_key: { description: "The key of the credentials" },
});

const summary = objectOf<EnrollmentSummary>("EnrollmentSummary", {
  id: text(),
  peel_id: text("Encoded peel id"),
  hostname: text("Empty when the peel did not say"),
  state: oneOf(enrollmentStates),
  created_at: time(),
  trust: oneOf(
    ["ok", "MISMATCH!", "-"],
    "Whether the peel trusted the CA root of this fleet; `-` when it did not say",
  ),
});

interface Reason {
  reason?: string;
}
const reason = objectOf<Reason>("Reason", {
  reason: optional({ type: "string", maxLength: 1024, description: "Why, for people; it is kept" }),
});

const decided = {
  200: { description: "The enrollment as it is now", schema: record },
  404: { description: "There is no enrollment with this id" },
  409: { description: "Its state does not allow this, or it is being changed by others" },
};

export const enrollmentDocs = {
  list: {
    tag: "Enrollments",
    id: "listEnrollments",
    summary: "List enrollments, newest first",
    parameters: {
      state: {
        description: "Which ones",
        schema: { ...oneOf([...enrollmentStates, "all"]), default: "pending" },
      },
      ...pageParameters,
    },
    responses: {
      200: { description: "One page of them", schema: listOf(summary), headers: nextPage },
      400: { description: "A parameter is malformed" },
    },
  },
  approve: {
    tag: "Enrollments",
    id: "approveEnrollment",
    summary: "Let a peel into the fleet",
    parameters: id,
    request: objectOf<{ force?: boolean }>("Approval", {
      force: optional({ type: "boolean", description: "Approve although the peel trusted another CA root" }),
    }),
    responses: {
      ...decided,
      409: { description: "Its state does not allow this, or the peel trusted another CA root" },
    },
  },
  reject: {
    tag: "Enrollments",
    id: "rejectEnrollment",
    summary: "Refuse a peel",
    parameters: id,
    request: reason,
    responses: decided,
  },
  revoke: {
    tag: "Enrollments",
    id: "revokeEnrollment",
    summary: "Take a peel's credentials back and end its connection",
    parameters: id,
    request: reason,
    responses: {
      ...decided,
      503: { description: "The enrollment is revoked; that the bus knows is not confirmed yet" },
    },
  },
} as const satisfies Record<string, RouteDoc>;
