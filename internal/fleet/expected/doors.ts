import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Enrollments";

/** How hosts that are expected are reached. */
export const expectedDoors = {
  expectHosts: {
    rest: {
      ...{ method: "POST", path: "/api/v1/enroll-expected", tag, show: "hosts", readsAll: true },
      ...{ body: "required", bodyTitle: "HostsToExpect" },
      answers: {
        200: "The outcome for each of them",
        409: "A host is expected with another key, or too many are expected",
      },
    },
    bus: { subject: "svc.admin.enroll.expect" },
  },
  listExpected: {
    rest: {
      ...{ method: "GET", path: "/api/v1/enroll-expected", tag, page: "hosts", readsAll: true },
      answers: { 200: "One page of them", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.enroll.expected", page: { usual: 500, max: 1_000 } },
  },
  unexpectHost: {
    rest: {
      ...{ method: "DELETE", path: "/api/v1/enroll-expected/:peel", tag, show: "host", readsAll: true },
      answers: {
        200: "The entry that was removed",
        404: "This peel id is not expected",
        409: "Other requests are changing it",
      },
    },
    bus: { subject: "svc.admin.enroll.unexpect" },
  },
} as const satisfies Doors<typeof operations>;
