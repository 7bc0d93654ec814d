import { type StateContext, StateFailure } from "../../function/mod.ts";
import { isJson } from "./engine.ts";

/** The setting with the credentials of registries, by their host, as Salt's trees name it. */
const setting = "docker-registries";
/** Docker Hub by its names. */
const hub = new Set(["docker.io", "index.docker.io", "registry-1.docker.io", "hub"]);

/**
 * The header that gives a registry its user name and password. They come from the settings, so that no state file
 * and no argument of a program has them.
 *
 * @param image such as `registry.example.com/app:1`
 * @returns no header when the settings have no credentials of the registry
 * @throws StateFailure, which contains no credential
 */
export function registryLogin(image: string, context: StateContext): Record<string, string> {
  const registries = context.settings.get(setting);
  if (registries === undefined || registries === null) return {};
  if (!isJson(registries)) throw new StateFailure(`the setting ${setting} is not a map of registries`);
  const wanted = registryOf(image);
  const [, login] = Object.entries(registries).find(([name]) => hostOf(name) === wanted) ?? [];
  if (login === undefined) return {};
  const { username, password } = isJson(login) ? login : {};
  if (typeof username !== "string" || typeof password !== "string") {
    throw new StateFailure(`the setting ${setting} has no username and password of ${wanted} as texts`);
  }
  const auth = Buffer.from(JSON.stringify({ username, password, serveraddress: wanted }));
  // Docker ignores a header without the padding, and asks the registry as nobody.
  const padded = auth.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
  return { "x-registry-auth": padded };
}

/** The first part of a name is a registry if it cannot be a part of a path. */
function registryOf(image: string): string {
  const [first = "", rest] = image.split(/\/(.*)/s);
  const isHost = rest !== undefined && (/[.:]/.test(first) || first === "localhost");
  return isHost ? canonical(first) : "docker.io";
}

/** `https://index.docker.io/v1/` is the registry `docker.io`. */
function hostOf(name: string): string {
  return canonical(name.replace(/^https?:\/\//, "").replace(/\/.*$/, ""));
}

function canonical(host: string): string {
  return hub.has(host) ? "docker.io" : host.toLowerCase();
}
