import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Sessions";
const notServed = "This master does not serve the console";
const byToken = "The request is signed in by a token";

/** How sessions of the console are reached. */
export const sessionDoors = {
  openSession: {
    rest: {
      ...{ method: "POST", path: "/api/v1/sessions", tag, auth: "none", budget: "sign-in", ownPages: true },
      ...{ body: "required", maxBodyBytes: 16 * 1024, readsAll: true },
      show: ["name", "roles", "csrf", "signed_in_at", "expires_at", "may"],
      answers: {
        201: "Signed in",
        400: "The body is malformed, or has more than one of token, link and oidc",
        401: "The token does not count, or the link was used or is too old",
        403: "The request is not of the console itself, or no role allows to use the console",
        404: notServed,
        409: "The link belongs to another person than signed_in_as",
      },
      headers: { "Set-Cookie": "The cookie of the session" },
    },
  },
  showSession: {
    rest: {
      ...{ method: "GET", path: "/api/v1/sessions/current", tag },
      answers: { 200: "The session", 404: byToken },
    },
  },
  endSession: {
    rest: {
      ...{ method: "DELETE", path: "/api/v1/sessions/current", tag, readsAll: true },
      answers: { 200: "Signed out", 404: byToken },
      headers: { "Set-Cookie": "Removes the cookie" },
    },
  },
  createSessionLink: {
    rest: {
      ...{ method: "POST", path: "/api/v1/sessions/links", tag, readsAll: true },
      answers: { 201: "The link, shown once", 404: notServed },
    },
    bus: { subject: "svc.admin.console.link", reply: ["urls", "expires_at"] },
  },
  listSignInProviders: {
    rest: {
      ...{ method: "GET", path: "/api/v1/sessions/providers", tag, auth: "none" },
      answers: { 200: "All of them", 404: notServed },
    },
  },
  beginSignInAtProvider: {
    rest: {
      ...{ method: "POST", path: "/api/v1/sessions/oidc", tag, auth: "none", budget: "sign-in" },
      ...{ body: "required", ownPages: true },
      answers: {
        200: "Where the browser goes",
        400: "The body is malformed",
        403: "The request is not of the console itself",
        404: `${notServed}, or does not know the provider`,
        503: "The provider does not answer",
      },
    },
  },
} as const satisfies Doors<typeof operations>;
