import type { Plain } from "../../internal/base/msgpack.ts";

const pin = `sha256:${"0".repeat(64)}`;

/**
 * Fields that the operations on peels, their facts and their settings take, and for each door some value that it does
 * not.
 */
export const peelInputs: Record<string, [fields: Record<string, Plain>, wrong: Record<string, Plain>]> = {
  "peels.list": [{ target: "web-*", limit: 3, cursor: "web-1" }, { limit: 0 }],
  "facts.get": [{ id: "web-1", name: "os" }, { name: "x".repeat(513) }],
  "facts.find": [{ target: "web-*", show: "os,mounts", limit: 3, cursor: "web-1" }, { show: "" }],
  "facts.count": [{ target: "web-*", by: "os" }, { by: "a,b,c,d,e,f" }],
  "facts.history": [{ id: "web-1", since: "2026-01-01T00:00:00Z" }, { since: "soon" }],
  "settings.show": [{ id: "web-1", name: "app:port" }, { name: "" }],
  "settings.reveal": [{ id: "web-1", name: "app:port" }, { name: "" }],
  "settings.kinds": [{ cursor: "web-1" }, { cursor: "" }],
  "settings.explain": [{ id: "web-1", name: "app:port" }, { name: "" }],
  "settings.reveal-explained": [{ id: "web-1", name: "app:port" }, { name: "" }],
  "peels.heartbeat": [{ id: "web-1" }, { id: 5 }],
  "peels.roots": [{ current: pin, next: pin }, { current: "sha256:" }],
  "peels.show": [{ id: "web-1" }, { id: 5 }],
};
