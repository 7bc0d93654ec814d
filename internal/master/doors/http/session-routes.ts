import { SvcError } from "../../../base/errors.ts";
import {
  beginAtProvider,
  cookieOf,
  createLink,
  endSession,
  isOwnRequest,
  listProviders,
  openSession,
  type SessionDeps,
  type SessionView,
  showSession,
} from "../../../fleet/sessions/mod.ts";
import type { HttpDoor } from "./bind.ts";
import { json, type Route } from "./route.ts";
import { notRead } from "./words.ts";

const open = { auth: "none", tag: "Sessions" } as const;
const behindCookie = { auth: "bearer", budget: "relaxed", tag: "Sessions" } as const;
const notServed = "This master does not serve the console";
const view = ["name", "roles", "csrf", "signed_in_at", "expires_at", "may"] as const;

/** The routes of the console to its sessions. */
export function sessionRoutes({ bind }: HttpDoor, deps: SessionDeps): Route[] {
  return [
    ofConsole(
      bind(openSession, deps, {
        ...open,
        method: "POST",
        path: "/api/v1/sessions",
        id: "openSession",
        budget: "strict",
        body: "required",
        maxBodyBytes: 16 * 1024,
        show: view,
        answers: {
          201: "Signed in",
          400: "The body is malformed, or has more than one of token, link and oidc",
          401: "The token does not count, or the link was used or is too old",
          403: "The request is not of the console itself, or no role allows to use the console",
          404: notServed,
          503: notRead,
        },
        headers: { "Set-Cookie": "The cookie of the session" },
        respond: ({ secret, ...session }) =>
          json(201, session, { "Set-Cookie": cookieOf(secret, secondsOf(session)) }),
      }),
    ),
    bind(showSession, deps, {
      ...behindCookie,
      method: "GET",
      path: "/api/v1/sessions/current",
      id: "showSession",
      answers: { 200: "The session", 404: "The request is signed in by a token" },
    }),
    bind(endSession, deps, {
      ...behindCookie,
      method: "DELETE",
      path: "/api/v1/sessions/current",
      id: "endSession",
      answers: { 200: "Signed out", 404: "The request is signed in by a token", 503: notRead },
      headers: { "Set-Cookie": "Removes the cookie" },
      respond: () => json(200, {}, { "Set-Cookie": cookieOf("", 0) }),
    }),
    bind(createLink, deps, {
      ...behindCookie,
      method: "POST",
      path: "/api/v1/sessions/links",
      id: "createSessionLink",
      answers: {
        201: "The link, shown once",
        404: notServed,
        503: notRead,
      },
    }),
    bind(listProviders, deps, {
      ...open,
      method: "GET",
      path: "/api/v1/sessions/providers",
      id: "listSignInProviders",
      budget: "relaxed",
      answers: { 200: "All of them", 404: notServed },
    }),
    ofConsole(
      bind(beginAtProvider, deps, {
        ...open,
        method: "POST",
        path: "/api/v1/sessions/oidc",
        id: "beginSignInAtProvider",
        budget: "strict",
        body: "required",
        answers: {
          200: "Where the browser goes",
          400: "The body is malformed",
          403: "The request is not of the console itself",
          404: `${notServed}, or does not know the provider`,
          503: "The provider does not answer",
        },
      }),
    ),
  ];
}

const secondsOf = ({ signed_in_at, expires_at }: SessionView): number =>
  Math.floor((Date.parse(expires_at) - Date.parse(signed_in_at)) / 1000);

/** A route for pages of the console alone: another site cannot sign a browser in under a name of its own. */
function ofConsole(route: Route): Route {
  return {
    ...route,
    get doc() {
      return route.doc;
    },
    handle(call) {
      if (!isOwnRequest(call.headers)) {
        throw new SvcError(
          "forbidden",
          "only the console itself signs in here: programs send a bearer token with each request",
        );
      }
      return route.handle(call);
    },
  };
}
