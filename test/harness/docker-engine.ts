import { join } from "node:path";
import { temporaryDirectory } from "./temporary.ts";

interface Container {
  Image: string;
  State: { Running: boolean; ExitCode: number };
  Config: Record<string, unknown>;
  HostConfig: Record<string, unknown>;
  NetworkSettings: { Networks: Record<string, unknown> };
}

/** The API of Docker on a socket, as far as states use it, with objects in memory. */
export interface DockerEngine extends Disposable {
  socket: string;
  /** Every request that changes something: `POST /containers/web/start`. */
  requests: string[];
  bodies: unknown[];
  images: Map<string, string>;
  containers: Map<string, Container>;
  networks: Map<string, Record<string, unknown>>;
  volumes: Map<string, Record<string, unknown>>;
  /** Whether containers end as soon as they start. */
  broken: boolean;
  /** What the host can do. */
  info: Record<string, unknown>;
  /** The credentials of each pull, or an empty text. */
  logins: string[];
}

export function startDockerEngine(): DockerEngine {
  const directory = temporaryDirectory("docker");
  const engine: Omit<DockerEngine, typeof Symbol.dispose> = {
    socket: join(directory.path, "docker.sock"),
    requests: [],
    bodies: [],
    images: new Map(),
    containers: new Map(),
    networks: new Map(),
    volumes: new Map(),
    broken: false,
    info: {},
    logins: [],
  };
  const server = Bun.serve({
    unix: engine.socket,
    async fetch(request) {
      const url = new URL(request.url);
      const path = decodeURIComponent(url.pathname);
      if (request.method !== "GET" && !path.endsWith("/wait"))
        engine.requests.push(`${request.method} ${path}${decodeURIComponent(url.search)}`);
      const text = await request.text();
      const body = text === "" ? {} : JSON.parse(text);
      if (text !== "") engine.bodies.push(body);
      if (path === "/images/create") engine.logins.push(request.headers.get("x-registry-auth") ?? "");
      return answer(engine, request.method, path, url.searchParams, body);
    },
  });
  return Object.assign(engine, {
    [Symbol.dispose]() {
      void server.stop(true);
      directory[Symbol.dispose]();
    },
  });
}

const done = () => new Response(null, { status: 204 });
const missing = (what: string) => Response.json({ message: `No such ${what}` }, { status: 404 });

function answer(
  engine: Omit<DockerEngine, typeof Symbol.dispose>,
  method: string,
  path: string,
  query: URLSearchParams,
  body: Record<string, unknown>,
): Response {
  const [, kind = "", ...rest] = path.split("/");
  if (kind === "images") {
    if (path === "/images/create") {
      const image = query.get("fromImage") ?? "";
      // A failed pull has the status 200, and an error in its last line.
      if (image.startsWith("private/")) {
        return new Response('{"status":"Pulling"}\r\n{"errorDetail":{},"error":"pull access denied"}\r\n');
      }
      engine.images.set(image, `sha256:${image}`);
      return new Response('{"status":"Pulling"}\r\n{"status":"Status: Downloaded newer image"}\r\n');
    }
    const name = method === "GET" ? rest.slice(0, -1).join("/") : rest.join("/");
    const id = engine.images.get(name);
    if (id === undefined) return missing("image");
    if (method === "GET") return Response.json({ Id: id, RepoTags: [name] });
    engine.images.delete(name);
    return Response.json([{ Untagged: name }]);
  }
  if (kind === "info") return Response.json(engine.info);
  if (kind === "containers") return answerContainer(engine, method, path, query, body);
  const objects = kind === "networks" ? engine.networks : engine.volumes;
  const [name = "", action] = rest;
  if (method === "POST" && name === "create") {
    objects.set(String(body.Name), { Driver: "bridge", Labels: {}, Containers: {}, ...body });
    return Response.json({ Id: "1" }, { status: 201 });
  }
  const found = objects.get(name);
  if (found === undefined) return missing(kind.slice(0, -1));
  if (action === "connect") {
    const container = engine.containers.get(String(body.Container));
    const { EndpointConfig = {} } = body;
    if (container !== undefined) container.NetworkSettings.Networks[name] = EndpointConfig;
    return done();
  }
  if (action === "disconnect") return done();
  if (method === "DELETE") objects.delete(name);
  return method === "DELETE" ? done() : Response.json(found);
}

function answerContainer(
  engine: Omit<DockerEngine, typeof Symbol.dispose>,
  method: string,
  path: string,
  query: URLSearchParams,
  body: Record<string, unknown>,
): Response {
  const [, , name = "", action] = path.split("/");
  if (name === "create") {
    const { HostConfig = {}, ...config } = body;
    // The image adds its own variables and command.
    const Env = ["PATH=/usr/bin", ...((config.Env as string[] | undefined) ?? [])];
    engine.containers.set(query.get("name") ?? "", {
      Image: engine.images.get(String(body.Image)) ?? "",
      State: { Running: false, ExitCode: 0 },
      Config: { Cmd: ["nginx"], Hostname: "0123456789ab", Labels: null, ...config, Env },
      HostConfig: {
        NetworkMode: "default",
        RestartPolicy: { Name: "no", MaximumRetryCount: 0 },
        ...(HostConfig as object),
      },
      NetworkSettings: { Networks: { bridge: {} } },
    });
    return Response.json({ Id: "1", Warnings: [] }, { status: 201 });
  }
  const found = engine.containers.get(name);
  if (found === undefined) return missing("container");
  if (method === "GET") return Response.json(found);
  if (action === "start")
    found.State = engine.broken ? { Running: false, ExitCode: 127 } : { Running: true, ExitCode: 0 };
  if (action === "stop") found.State = { Running: false, ExitCode: 0 };
  if (action === "wait") {
    // It does not wait: a container that runs now goes on running.
    if (found.State.Running) return Response.json({ message: "it runs" }, { status: 408 });
    return Response.json({ StatusCode: found.State.ExitCode });
  }
  if (method === "DELETE") engine.containers.delete(name);
  return done();
}
