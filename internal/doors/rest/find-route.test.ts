import { expect, test } from "bun:test";
import { createRouteFinder, type Ruled } from "./find-route.ts";

const route = (method: Ruled["method"], path: string): Ruled => ({
  ...{ method, path, auth: "bearer", budget: "relaxed", doc: { summary: "" } as Ruled["doc"] },
});
const routes = [
  route("GET", "/api/v1/jobs"),
  route("POST", "/api/v1/jobs"),
  route("GET", "/api/v1/jobs/:id"),
  route("GET", "/console/*"),
];

test.each([
  ["/api/v1/jobs", "/api/v1/jobs"],
  ["/api/v1/jobs/job-1", "/api/v1/jobs/:id"],
  ["/console/a/b/c", "/console/*"],
  [`/console/${"a/".repeat(40)}b`, "/console/*"],
  ["/api/v1/jobs/", undefined],
  ["/api/v1/jobs/job-1/more", undefined],
  ["/api/v1/job", undefined],
])("the route of %s is %s", (path, found) => {
  expect(createRouteFinder(routes).first(path)?.path).toBe(found);
});

test("every route of a path is found, for the methods that it allows", () => {
  const { all } = createRouteFinder(routes);
  expect(all("/api/v1/jobs").map(({ method }) => method)).toEqual(["GET", "POST"]);
  expect(all("/nothing")).toEqual([]);
});
