import { adminQueue, consoleLinkSubject } from "../../bus/mod.ts";
import { createLink, type SessionDeps } from "../sessions/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

export const consoleOverBus = {
  link: overBus({
    operation: createLink,
    subject: consoleLinkSubject,
    queue: adminQueue,
    reply: ["urls", "expires_at"],
  }),
};

export function serveConsole(door: BusDoor, deps: SessionDeps): void {
  serve(door, consoleOverBus.link, deps);
}
