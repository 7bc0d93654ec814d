import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const read = { method: "GET", tag: "Peels" } as const;
const malformed = "A parameter is malformed";
const noFacts = "The peel is not a member of the fleet, or it has stored no facts";
const page = { usual: 500, max: 1_000 };

/** How what the masters know of peels is reached. */
export const peelDoors = {
  listPeels: {
    rest: {
      ...{ ...read, path: "/api/v1/peels", page: "peels", readsAll: true },
      answers: { 200: "One page of them", 400: malformed },
    },
    bus: { subject: "svc.admin.peel.list", page },
  },
  showPeel: {
    rest: {
      ...{ ...read, path: "/api/v1/peels/:id", show: "peel", readsAll: true },
      answers: { 200: "The peel", 404: "The peel is not a member of the fleet" },
    },
    bus: { subject: "svc.admin.peel.show" },
  },
  getFacts: {
    rest: {
      ...{ ...read, path: "/api/v1/peels/:id/facts", show: "value" },
      answers: { 200: "All facts, or the one that was asked for", 404: `${noFacts}, or not this one` },
    },
    bus: { subject: "svc.admin.peel.facts" },
  },
  getFactsHistory: {
    rest: {
      ...{ ...read, path: "/api/v1/peels/:id/facts/history" },
      answers: { 200: "The changes", 400: malformed, 404: noFacts },
    },
    bus: { subject: "svc.admin.peel.facts-history" },
  },
  findFacts: {
    rest: {
      ...{ ...read, path: "/api/v1/facts", page: "peels", readsAll: true },
      answers: { 200: "One page of the peels", 400: "A parameter is malformed, or no peel has such a fact" },
    },
    bus: { subject: "svc.admin.peel.find-facts", page },
  },
  countFacts: {
    rest: {
      ...{ ...read, path: "/api/v1/facts/count", readsAll: true },
      answers: { 200: "The groups", 400: "A parameter is malformed, or no peel has such a fact" },
    },
    bus: { subject: "svc.admin.peel.count-facts" },
  },
  showHeartbeat: {
    rest: {
      ...{ ...read, path: "/api/v1/peels/:id/heartbeat" },
      answers: { 200: "The heartbeat, if the peel is alive" },
    },
    bus: { subject: "svc.admin.peel.heartbeat" },
  },
  // Not below the peels: a peel may have any name.
  surveyPeels: {
    rest: {
      ...{ ...read, path: "/api/v1/fleet/survey", readsAll: true },
      answers: { 200: "The counts and the lists" },
    },
    bus: { subject: "svc.admin.peel.survey" },
  },
  surveyRoots: {
    rest: {
      ...{ ...read, path: "/api/v1/fleet/roots", readsAll: true },
      answers: { 200: "The counts, and the members that lack the next root", 400: malformed },
    },
    bus: { subject: "svc.admin.peel.roots" },
  },
} as const satisfies Doors<typeof operations>;
